import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { onConnection, type Sql } from './connection.ts';

export type { Sql };

/** What MySQL answers to a statement that writes. */
export interface WriteResult {
  affectedRows: number;
  insertId: string | number;
}

/** ER_CHECKREAD (a row changed under a snapshot), ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK. */
const RETRYABLE_LOCK_ERRORS = new Set([1020, 1205, 1213]);

/**
 * Runs `work` in one READ COMMITTED transaction, and once more (at most six times) when MySQL chose it as a deadlock's
 * victim. `work` may therefore run several times: it must change nothing but the database.
 */
export function inTransaction<T>(database: DataSource, work: (sql: Sql) => Promise<T>): Promise<T> {
  return pRetry(() => tryTransaction(database, work), {
    retries: 6,
    minTimeout: 20,
    randomize: true,
    shouldRetry: ({ error }) => isRetryableLockError(error),
  });
}

/** Runs `work` in one READ COMMITTED transaction, for a caller that has another way when it fails: it is not repeated. */
export function tryTransaction<T>(database: DataSource, work: (sql: Sql) => Promise<T>): Promise<T> {
  return onConnection(database, async (sql) => {
    await sql.query('START TRANSACTION');
    try {
      const result = await work(sql);
      await sql.query('COMMIT');
      return result;
    } catch (error) {
      // Where the connection is lost, so is the transaction.
      await sql.query('ROLLBACK').catch(() => {});
      throw error;
    }
  });
}

/** Whether a statement lost to another one's locks: the same work succeeds when repeated. */
export const isRetryableLockError = (error: unknown): boolean =>
  error instanceof Error && 'errno' in error && RETRYABLE_LOCK_ERRORS.has(Number(error.errno));

/** Codes of mysql2 and of the system that say: the server is not there, or the connection to it is not any more. */
const CONNECTION_ERRORS = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  // The Unix socket of a server that takes no connections any more, as one that was stopped: its queue is full.
  'EAGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ER_SERVER_SHUTDOWN',
  'ER_CONNECTION_KILLED',
  'ER_CON_COUNT_ERROR',
]);

/** Whether a statement failed because MySQL is away: the same statement may succeed later. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string' && CONNECTION_ERRORS.has(error.code)) return true;
  // The Unix socket of a server that is down does not exist; neither does many a file that is read.
  if ('code' in error && error.code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect')
    return true;
  // mysql2 gives these no code.
  return /closed state|Connection lost|Pool is closed/i.test(error.message);
}
