import type { Socket } from 'node:net';
import type { Pool, PoolConnection, PoolOptions } from 'mysql2';
import type { DataSource } from 'typeorm';
import type { Host } from '../../config/server-urls.ts';
import { abandonConnections, type MysqlPool, poolOf } from '../connection.ts';
import { followPrimary, nameOf, type Primary } from './primary.ts';

/** Which host takes writes now, such as `db2:3306`, or null; and what the other hosts say, for a person. */
interface PrimaryChange {
  to: string | null;
  others: string;
}

type Listener = (change: PrimaryChange) => void;

const listeners = new WeakMap<MysqlPool, Set<Listener>>();

/** Calls back each time that another host is the primary, or none is. Does nothing if DATABASE_URL has one host. */
export function onPrimaryChange(database: DataSource, listener: Listener): void {
  const pool = poolOf(database);
  if (pool !== undefined) listeners.get(pool)?.add(listener);
}

/** Lets the connections of a pool lead to that of several hosts which may be written, and ends those that lead to another one. */
export function leadToPrimary(pool: Pool, hosts: readonly Host[], options: PoolOptions): void {
  const inner = pool as unknown as MysqlPool;
  const own = new Set<Listener>();
  listeners.set(inner, own);
  const primary: Primary = followPrimary(hosts, options, (host, others) => {
    if (host !== null) Object.assign(inner.config.connectionConfig, host);
    abandonConnections(inner);
    // A statement may wait there for as long as the host has no majority, or is frozen.
    for (const connection of inner._allConnections.toArray()) fail(connection);
    const to = host === null ? null : nameOf(host);
    for (const listener of own) listener({ to, others });
  });

  const { getConnection, end } = pool;
  pool.getConnection = (callback) => {
    if (primary.current() !== null) return getConnection.call(pool, callback);
    primary.find().then(
      () => getConnection.call(pool, callback),
      // mysql2 gives no connection with an error.
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
    // It was opened while the primary changed.
    if (current === null || current.host !== host || current.port !== port) fail(connection);
  });
}

const CHANGED = 'another host has become the primary, or none is';

/** Ends a connection. The statement that waits for it fails, which `destroy()` would forget. */
function fail(connection: PoolConnection): void {
  const { stream } = connection as unknown as { stream: Socket };
  stream.destroy(Object.assign(new Error(CHANGED), { code: 'PRIMARY_CHANGED' }));
}
