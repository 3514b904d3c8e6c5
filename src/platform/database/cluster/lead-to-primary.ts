import type { Socket } from 'node:net';
import type { Pool, PoolConnection, PoolOptions } from 'mysql2';
import type { DataSource } from 'typeorm';
import type { Host } from '../../config/server-urls.ts';
import { abandonConnections, type MysqlPool, poolOf } from '../connection.ts';
import { followPrimary, nameOf, type Primary } from './primary.ts';

/** The host that takes writes now, such as `db2:3306`, or null; and the states of the other hosts, as a text for a person. */
interface PrimaryChange {
  to: string | null;
  others: string;
}

type Listener = (change: PrimaryChange) => void;

const listeners = new WeakMap<MysqlPool, Set<Listener>>();

/** Calls back whenever another host becomes the primary, or there is none. Does nothing if DATABASE_URL has one host. */
export function onPrimaryChange(database: DataSource, listener: Listener): void {
  const pool = poolOf(database);
  if (pool !== undefined) listeners.get(pool)?.add(listener);
}

/** Makes the connections of a pool lead to the host that may be written, and ends connections to other hosts. */
export function leadToPrimary(pool: Pool, hosts: readonly Host[], options: PoolOptions): void {
  const inner = pool as unknown as MysqlPool;
  const own = new Set<Listener>();
  listeners.set(inner, own);
  const primary: Primary = followPrimary(hosts, options, (host, others) => {
    if (host !== null) Object.assign(inner.config.connectionConfig, host);
    abandonConnections(inner);
    // On a host without a majority, or a frozen one, a statement could wait without end.
    for (const connection of inner._allConnections.toArray()) fail(connection);
    const to = host === null ? null : nameOf(host);
    for (const listener of own) listener({ to, others });
  });

  const { getConnection, end } = pool;
  pool.getConnection = (callback) => {
    if (primary.current() !== null) return getConnection.call(pool, callback);
    primary.find().then(
      () => getConnection.call(pool, callback),
      // With an error, mysql2 passes no connection.
      (error: NodeJS.ErrnoException) => callback(error, undefined as never),
    );
  };
  pool.end = (...callback) => {
    primary.stop();
    return end.apply(pool, callback);
  };
  pool.on('connection', (connection: PoolConnection) => {
    const { host, port } = connection.config;
    const current = primary.current();
    // The connection was opened while the primary changed.
    if (current === null || current.host !== host || current.port !== port) fail(connection);
  });
}

const CHANGED = 'another host has become the primary, or none is';

/** Ends a connection so that its waiting statement fails. `destroy()` would leave the statement waiting. */
function fail(connection: PoolConnection): void {
  const { stream } = connection as unknown as { stream: Socket };
  stream.destroy(Object.assign(new Error(CHANGED), { code: 'PRIMARY_CHANGED' }));
}
