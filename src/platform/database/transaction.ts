import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { onConnection, type Sql } from './connection.ts';

export type { Sql };

/** MySQL's response to a statement that writes. */
export interface WriteResult {
  affectedRows: number;
  insertId: string | number;
}

/** ER_CHECKREAD (a row changed under a snapshot), ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK. */
const RETRYABLE_LOCK_ERRORS = new Set([1020, 1205, 1213]);

/**
 * Runs `work` in one READ COMMITTED transaction, and repeats it up to six times after a retryable lock error. `work` may run
 * several times, so it must change nothing but the database.
 */
export function inTransaction<T>(database: DataSource, work: (sql: Sql) => Promise<T>): Promise<T> {
  return pRetry(() => tryTransaction(database, work), {
    retries: 6,
    minTimeout: 20,
    randomize: true,
    shouldRetry: ({ error }) => isRetryableLockError(error),
  });
}

/** Runs `work` once in a READ COMMITTED transaction, for a caller that has an alternative if it fails. */
export function tryTransaction<T>(database: DataSource, work: (sql: Sql) => Promise<T>): Promise<T> {
  return onConnection(database, async (sql) => {
    await sql.query('START TRANSACTION');
    try {
      const result = await work(sql);
      await sql.query('COMMIT');
      return result;
    } catch (error) {
      // If the connection is lost, MySQL rolls the transaction back.
      await sql.query('ROLLBACK').catch(() => {});
      throw error;
    }
  });
}

/** Whether a statement failed because of the locks of another transaction. The same work can succeed when it is repeated. */
export const isRetryableLockError = (error: unknown): boolean =>
  error instanceof Error && 'errno' in error && RETRYABLE_LOCK_ERRORS.has(Number(error.errno));

/** Codes of mysql2, MySQL and the operating system for a server that is unreachable or a connection that was lost. */
const CONNECTION_ERRORS = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  // The connection queue of a Unix socket is full, because the server accepts no connections, for example when it was stopped.
  'EAGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // The server cannot be reached in the way that ssl-mode requires.
  'HANDSHAKE_NO_SSL_SUPPORT',
  'HANDSHAKE_SSL_ERROR',
  'ER_SERVER_SHUTDOWN',
  'ER_CONNECTION_KILLED',
  'ER_CON_COUNT_ERROR',
]);

/** Whether a statement failed because MySQL is unreachable. The same statement may succeed later. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string' && CONNECTION_ERRORS.has(error.code)) return true;
  // The Unix socket of a server that is down does not exist. Other missing files are no connection errors.
  if ('code' in error && error.code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect')
    return true;
  // mysql2 gives these errors no code.
  return /closed state|Connection lost|Pool is closed/i.test(error.message);
}

/**
 * A derived table whose rows are parameters, so that one UPDATE or INSERT … SELECT changes many rows. Works in MySQL and MariaDB.
 * @param columns the names of the columns, in the order of the values.
 * @param rows the number of rows, at least 1.
 */
export const derivedRows = (columns: readonly string[], rows: number): string =>
  `SELECT ${columns.map((column) => `? AS ${column}`).join(', ')} ${`UNION ALL SELECT ${columns.map(() => '?').join(', ')} `.repeat(rows - 1)}`;
