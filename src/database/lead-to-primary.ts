import type { Socket } from 'node:net';
import type { Pool, PoolConnection, PoolOptions } from 'mysql2';
import type { DataSource } from 'typeorm';
import type { Host } from '../platform/server-urls.ts';
import type { Ask } from './cluster/host-state.ts';
import { findHostProblems, followPrimary, type HostsReport, type Primary } from './cluster/primary.ts';
import { abandonConnections, type MysqlPool, poolOf } from './connection.ts';

export { type HostsReport, NoPrimaryError, UnfitHostsError } from './cluster/primary.ts';

/** Leads the connections of a pool to the primary of several hosts. */

type Listener = (report: HostsReport, before: HostsReport) => void;

const followed = new WeakMap<MysqlPool, { primary: Primary; listeners: Set<Listener> }>();

const followedOf = (database: DataSource) => {
  const pool = poolOf(database);
  return pool === undefined ? undefined : followed.get(pool);
};

/** The hosts of DATABASE_URL as this process sees them; null if there is only one. */
export const readHosts = (database: DataSource): HostsReport | null =>
  followedOf(database)?.primary.report() ?? null;

/** Problems with these hosts that an operator has to solve, in one sentence each. */
export function readHostProblems(database: DataSource): string[] {
  const hosts = readHosts(database);
  return hosts === null ? [] : findHostProblems(hosts);
}

/**
 * Calls back whenever another host becomes the primary, there is none, hosts begin or end to contradict each other, or other members
 * start writable. Does nothing if DATABASE_URL has one host.
 */
export function onHostsChange(database: DataSource, listener: Listener): void {
  followedOf(database)?.listeners.add(listener);
}

/**
 * Makes the connections of a pool lead to the host that may be written, and ends connections to other hosts. A new connection carries
 * a statement only after its host was asked whether it may be written: a server that was killed and comes back alone takes writes
 * before it has found its cluster.
 */
export function leadToPrimary(pool: Pool, hosts: readonly Host[], options: PoolOptions): void {
  const inner = pool as unknown as MysqlPool;
  const listeners = new Set<Listener>();
  let before: HostsReport | null = null;
  const primary: Primary = followPrimary(hosts, options, (host, report) => {
    if (report.primary !== (before?.primary ?? null)) {
      if (host !== null) Object.assign(inner.config.connectionConfig, host);
      abandonConnections(inner);
      // On a host without a majority, or a frozen one, a statement could wait without end.
      for (const connection of inner._allConnections.toArray()) fail(connection);
    }
    for (const listener of listeners) listener(report, before ?? report);
    before = report;
  });
  followed.set(inner, { primary, listeners });

  const { getConnection, end } = pool;
  /** Connections whose host was asked. */
  const confirmed = new WeakSet<PoolConnection>();
  const confirm = async (connection: PoolConnection): Promise<void> => {
    const { host = '', port = 0 } = connection.config;
    const ask: Ask = (statement) => askOver(connection, statement);
    if (!(await primary.confirm({ host, port }, ask))) throw CHANGED;
    confirmed.add(connection);
  };
  const getConfirmed: typeof getConnection = (callback) =>
    getConnection.call(pool, (error, connection) => {
      if (error !== null || confirmed.has(connection)) return callback(error, connection);
      confirm(connection).then(
        () => callback(null, connection),
        (reason: NodeJS.ErrnoException) => {
          fail(connection);
          callback(reason, undefined as never);
        },
      );
    });
  pool.getConnection = (callback) => {
    if (primary.current() !== null) return getConfirmed(callback);
    primary.find().then(
      () => getConfirmed(callback),
      // With an error, mysql2 passes no connection.
      (error: NodeJS.ErrnoException) => callback(error, undefined as never),
    );
  };
  pool.end = (...callback) => {
    primary.stop();
    return end.apply(pool, callback);
  };
}

/** Milliseconds that a host has to say whether it may be written. */
const ANSWER_LIMIT = 2_000;

const askOver = <T>(connection: PoolConnection, sql: string): Promise<T[]> =>
  new Promise((resolve, reject) => {
    connection.query({ sql, timeout: ANSWER_LIMIT }, (error, rows) =>
      error === null ? resolve(rows as T[]) : reject(error),
    );
  });

const CHANGED = Object.assign(new Error('another host has become the primary, or none is'), {
  code: 'PRIMARY_CHANGED',
});

/** Ends a connection so that its waiting statement fails. `destroy()` would leave the statement waiting. */
function fail(connection: PoolConnection): void {
  const { stream } = connection as unknown as { stream: Socket };
  stream.destroy(CHANGED);
}
