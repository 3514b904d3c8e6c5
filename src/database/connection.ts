import type { Pool, PoolConnection, QueryError, QueryResult } from 'mysql2';
import type { DataSource } from 'typeorm';
import {
  hasNoRoom,
  isConnectionError,
  mayNotWrite,
  mysqlProblem,
  refusesSize,
  StatementError,
} from './errors.ts';

/** Runs statements on a connection of the pool, and notes when MySQL lacks room. */

/** Runs statements: the DataSource itself, or a transaction on it. */
export interface Sql {
  query<T>(statement: string, values?: unknown[]): Promise<T>;
}

/**
 * Runs `work` with one of the pool's connections. Statements go directly to the driver, because TypeORM's query runner would double
 * their processor time.
 * @throws {StatementError} when the server is unreachable or refuses a statement.
 */
export async function onConnection<T>(database: DataSource, work: (sql: Sql) => Promise<T>): Promise<T> {
  const connection = await connect(database);
  const timeout = database.options.maxQueryExecutionTime;
  try {
    return await work({
      query: <R>(statement: string, values?: unknown[]) =>
        run<R>(connection, statement, values, timeout).catch(async (error: unknown) => {
          if (hasNoRoom(error))
            lackOfRoom.set(database, { at: performance.now(), problem: mysqlProblem(error) });
          if (mayNotWrite(error)) {
            connection.destroy();
            const pool = poolOf(database);
            if (pool !== undefined) abandonConnections(pool);
          }
          if (await isTooLarge(database, error, values)) {
            // The server closes the connection.
            connection.destroy();
            throw new StatementError(TOO_LARGE);
          }
          throw error;
        }),
    });
  } finally {
    connection.release();
  }
}

/** MySQL's own error for it (ER_NET_PACKET_TOO_LARGE). */
const TOO_LARGE = Object.assign(new Error('a statement is larger than max_allowed_packet'), {
  code: 'ER_NET_PACKET_TOO_LARGE',
  errno: 1153,
});

/** Below this, a statement fits into any max_allowed_packet with which MySQL can be used. Bytes. */
const FITS_ANYWHERE = 256 * 1024;

/**
 * Whether a statement has failed because of its size. MySQL closes the connection then, and its error may be lost with the
 * connection.
 */
async function isTooLarge(database: DataSource, error: unknown, values: unknown[] = []): Promise<boolean> {
  if (refusesSize(error)) return true;
  const bytes = values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
  if (bytes < FITS_ANYWHERE || !isConnectionError(error)) return false;
  const limit = await database.query<{ bytes: string }[]>('SELECT @@GLOBAL.max_allowed_packet AS bytes').then(
    ([row]) => Number(row?.bytes),
    () => Number.POSITIVE_INFINITY,
  );
  return bytes > 0.9 * limit;
}

const sizeOf = (value: unknown): number => {
  if (value instanceof Uint8Array) return value.length;
  return typeof value === 'string' ? Buffer.byteLength(value) : 0;
};

/** How long a statement that found no room counts. The work that failed is tried again more often than this. Milliseconds. */
const LACK_COUNTS_FOR = 15_000;

const lackOfRoom = new WeakMap<DataSource, { at: number; problem: string | null }>();

/**
 * Says that a statement found no room on MySQL's disk within the last 15 s. A write that is small enough for a page that exists
 * succeeds on a full disk, so no single write can tell.
 */
export function recentLackOfRoom(database: DataSource): string | null {
  const last = lackOfRoom.get(database);
  return last !== undefined && performance.now() - last.at < LACK_COUNTS_FOR ? last.problem : null;
}

async function connect(database: DataSource): Promise<PoolConnection> {
  const pool = poolOf(database);
  if (pool === undefined) throw new Error('Pool is closed.');
  for (;;) {
    const connection = await take(pool).catch((error: NodeJS.ErrnoException) => {
      throw new StatementError(error);
    });
    const abandoned = abandonedAt.get(pool) ?? 0;
    if ((openedAt.get(connection) ?? abandoned) >= abandoned) return connection;
    connection.destroy();
  }
}

/** Milliseconds that a caller waits for a connection. After that, it should learn that MySQL is too slow. */
const POOL_TIMEOUT = 10_000;

const NO_CONNECTION = Object.assign(new Error('all connections to MySQL have been busy for 10 s'), {
  code: 'POOL_TIMEOUT',
});

const take = (pool: MysqlPool): Promise<PoolConnection> =>
  new Promise((resolve, reject) => {
    let isLate = false;
    const giveUp = () => {
      isLate = true;
      reject(NO_CONNECTION);
    };
    const timer = pool._freeConnections.length === 0 ? setTimeout(giveUp, POOL_TIMEOUT) : undefined;
    pool.getConnection((error, connection) => {
      clearTimeout(timer);
      if (error !== null) reject(error);
      else if (isLate) connection.release();
      else resolve(connection);
    });
  });

/** A growing count that orders two kinds of moments: when connections were opened, and when a pool abandoned its connections. */
let moments = 0;
const openedAt = new WeakMap<PoolConnection, number>();
const abandonedAt = new WeakMap<MysqlPool, number>();

/** Called for each new connection of a pool. */
export function noteOpened(connection: PoolConnection): void {
  moments += 1;
  openedAt.set(connection, moments);
}

/**
 * Replaces all connections of a pool. New ones may lead to another server, because the pool resolves the name again. Connections in
 * use are closed when they come back.
 */
export function abandonConnections(pool: MysqlPool): void {
  moments += 1;
  abandonedAt.set(pool, moments);
  for (const connection of pool._freeConnections.toArray()) connection.destroy();
}

/** Ends the connections in use. Their statements have no caller any more, and MySQL may never answer them. */
export function endConnectionsInUse(database: DataSource): void {
  const pool = poolOf(database);
  const free = new Set(pool?._freeConnections.toArray());
  for (const connection of pool?._allConnections.toArray() ?? [])
    if (!free.has(connection)) connection.destroy();
}

/**
 * Whether to send a value with a prepared statement, which sends bytes unchanged. In the text of a statement they are in hex, twice
 * as long, and the server reads them character by character. Preparing does not pay for short values.
 */
const isLong = (value: unknown): boolean => value instanceof Uint8Array && value.length > 4_096;

/** The same message and code as the driver's own timeout. */
const TIMED_OUT = Object.assign(new Error('Query inactivity timeout'), { code: 'PROTOCOL_SEQUENCE_TIMEOUT' });

async function run<T>(
  connection: PoolConnection,
  sql: string,
  values: unknown[] | undefined,
  timeout: number | undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      const done = (error: QueryError | null, result: QueryResult) =>
        error === null ? resolve(result as T) : reject(error);
      const statement = { sql, values, ...(timeout === undefined ? {} : { timeout }) };
      if (!values?.some(isLong)) return connection.query(statement, done);
      // The driver's timeout covers only the execution, and the preparation may hang too.
      if (timeout !== undefined) timer = setTimeout(() => reject(TIMED_OUT), timeout);
      connection.execute(statement, done);
    });
  } catch (error) {
    const failure = new StatementError(error as NodeJS.ErrnoException);
    // The server may still be running the statement. The next statement on this connection would wait for it.
    if (failure.code === TIMED_OUT.code) connection.destroy();
    throw failure;
  } finally {
    clearTimeout(timer);
  }
}

/** The current use of a pool's connections. */
interface PoolUse {
  busy: number;
  idle: number;
  /** Callers that wait for a connection. */
  waiters: number;
  /** The most connections that the pool opens. */
  max: number;
}

/** Members of mysql2's pool (3.24) that its types do not declare. */
export interface MysqlPool {
  config: { connectionLimit: number; connectionConfig: { host?: string; port?: number } };
  _allConnections: { length: number; toArray(): PoolConnection[] };
  _freeConnections: { length: number; toArray(): PoolConnection[] };
  getConnection: Pool['getConnection'];
  _connectionQueue: { length: number };
  on(event: 'enqueue', listener: () => void): void;
}

/** undefined: the database is not open. */
export const poolOf = ({ driver }: DataSource): MysqlPool | undefined =>
  (driver as unknown as { pool?: MysqlPool }).pool;

/** Reads how the pool is used; null after it was closed. */
export function readPoolUse(database: DataSource): PoolUse | null {
  const pool = poolOf(database);
  if (pool === undefined) return null;
  const idle = pool._freeConnections.length;
  return {
    busy: pool._allConnections.length - idle,
    idle,
    waiters: pool._connectionQueue.length,
    max: pool.config.connectionLimit,
  };
}

/** Calls back whenever a caller has to wait for a connection. */
export const onPoolWait = (database: DataSource, callback: () => void): void =>
  poolOf(database)?.on('enqueue', callback);
