import type { Pool, PoolConnection, QueryError, QueryResult } from 'mysql2';
import type { DataSource } from 'typeorm';

/** Runs statements: the DataSource itself, or a transaction on it. */
export interface Sql {
  query<T>(statement: string, values?: unknown[]): Promise<T>;
}

/**
 * A failed statement, with the error code of MySQL or of the operating system. The driver's own error contains the statement with
 * its values, and its stack does not lead to the caller.
 */
class StatementError extends Error {
  override name = 'StatementError';
  readonly code: string;
  readonly errno: number | undefined;
  readonly syscall: string | undefined;

  constructor({ message, code, errno, syscall }: NodeJS.ErrnoException) {
    super(message);
    this.code = code ?? 'UNKNOWN';
    this.errno = errno;
    this.syscall = syscall;
  }
}

/**
 * Runs `work` with one of the pool's connections. Statements go to the driver directly, because TypeORM's query runner takes as
 * much processor time again for each of them.
 * @throws {StatementError} when the server is unreachable or refuses a statement.
 */
export async function onConnection<T>(database: DataSource, work: (sql: Sql) => Promise<T>): Promise<T> {
  const connection = await connect(database);
  const timeout = database.options.maxQueryExecutionTime;
  try {
    return await work({
      query: <R>(statement: string, values?: unknown[]) => run<R>(connection, statement, values, timeout),
    });
  } finally {
    connection.release();
  }
}

async function connect({ driver }: DataSource): Promise<PoolConnection> {
  const { pool } = driver as unknown as { pool?: Pool };
  if (pool === undefined) throw new Error('Pool is closed.');
  try {
    return await new Promise<PoolConnection>((resolve, reject) => {
      pool.getConnection((error, connection) => (error === null ? resolve(connection) : reject(error)));
    });
  } catch (error) {
    throw new StatementError(error as NodeJS.ErrnoException);
  }
}

/**
 * Long bytes are sent unchanged, with a prepared statement. In the text of a statement they would be in hex, twice as long, and the
 * server would read them character by character. A short value is not worth the preparation.
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
    // The server may still be running the statement, and the next one on this connection would wait for it.
    if (failure.code === TIMED_OUT.code) connection.destroy();
    throw failure;
  } finally {
    clearTimeout(timer);
  }
}

/** How the connections of a pool are used at this moment. */
export interface PoolUse {
  busy: number;
  idle: number;
  /** Callers that wait for a connection. */
  waiters: number;
  /** The most connections that the pool opens. */
  max: number;
}

/** The state of its pool that mysql2 (3.24) tells only by its events. */
interface MysqlPool {
  config: { connectionLimit: number };
  _allConnections: { length: number };
  _freeConnections: { length: number };
  _connectionQueue: { length: number };
  on(event: 'enqueue', listener: () => void): void;
}

const poolOf = ({ driver }: DataSource): MysqlPool | undefined =>
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

/** Calls back each time that a caller has to wait for a connection. */
export const onPoolWait = (database: DataSource, callback: () => void): void =>
  poolOf(database)?.on('enqueue', callback);
