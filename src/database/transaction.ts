import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { onConnection, type Sql } from './connection.ts';
import { isRetryableLockError, isTransient } from './errors.ts';

/** Runs work in a transaction, and repeats it after a lock error. */

export type { Sql };

/** MySQL's response to a statement that writes. */
export interface WriteResult {
  affectedRows: number;
  insertId: string | number;
}

/**
 * Runs `work` in one READ COMMITTED transaction, and repeats it up to six times within 10 s after a retryable lock error. `work` may run
 * several times, so it must not change anything outside the database.
 */
export function inTransaction<T>(database: DataSource, work: (sql: Sql) => Promise<T>): Promise<T> {
  return pRetry(() => tryTransaction(database, work), {
    retries: 6,
    maxRetryTime: 10_000,
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

/**
 * Runs a statement that gives something back after a failure. If MySQL cannot run it now, it is tried again in the background, for up
 * to a minute. Never throws.
 */
export async function giveBack(database: DataSource, statement: string, values: unknown[]): Promise<void> {
  const attempt = () => database.query(statement, values);
  await attempt().catch(() => {
    pRetry(attempt, {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 200,
      maxTimeout: 2_000,
      maxRetryTime: 60_000,
      unref: true,
      shouldRetry: ({ error }) => isTransient(error),
    }).catch(() => {});
  });
}

/**
 * A derived table whose rows are parameters, so that one UPDATE or INSERT … SELECT changes many rows. Works in MySQL and MariaDB.
 * @param columns the names of the columns, in the order of the values.
 * @param rows the number of rows, at least 1.
 */
export const derivedRows = (columns: readonly string[], rows: number): string =>
  `SELECT ${columns.map((column) => `? AS ${column}`).join(', ')} ${`UNION ALL SELECT ${columns.map(() => '?').join(', ')} `.repeat(rows - 1)}`;
