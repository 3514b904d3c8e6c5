import type { DataSource } from 'typeorm';
import { deleteByIds } from '../../database/delete-by-ids.ts';
import { inTransaction } from '../../database/transaction.ts';
import { repeatWhileFull, type Steps } from './steps.ts';

/** Removes statements whose movements were removed, and statements of an account that is deleted. */

/** Statements of days whose movements have been removed, and are not stored again. Indexes: statements_time, transactions_account_date. */
const READ_STATEMENTS = `
  SELECT s.id FROM accounts a JOIN statements s FORCE INDEX (statements_time) ON s.account_id = a.id
  JOIN import_locks l ON l.customer_id = a.customer_id
  WHERE a.customer_id = ? AND s.kind IN ('final', 'interim') AND s.to_date < l.removed_before AND s.received_at < ?
    AND NOT EXISTS (
      SELECT 1 FROM transactions t FORCE INDEX (transactions_account_date)
      WHERE t.account_id = s.account_id AND t.date_issue <= s.to_date)
  LIMIT ?`;
const DELETE_STATEMENTS = 'DELETE FROM statements WHERE id IN (?)';

/** Removes the statements of a customer that came before a moment and have no movements any more. @returns how many. */
export const removeStatements = async (
  database: DataSource,
  steps: Steps,
  { customerId, before }: { customerId: string; before: Date },
): Promise<number> =>
  (await repeatWhileFull(steps, (rows) => deleteFound(database, READ_STATEMENTS, [customerId, before, rows])))
    .count;

/** Index: statements_page. */
const STATEMENTS_OF_ACCOUNT =
  'SELECT id FROM statements FORCE INDEX (statements_page) WHERE account_id = ? ORDER BY account_id, id LIMIT ?';

/** Deletes the statements of an account. @returns false if it was stopped before. */
export const deleteStatements = async (
  database: DataSource,
  steps: Steps,
  accountId: string,
): Promise<boolean> =>
  (await repeatWhileFull(steps, (rows) => deleteFound(database, STATEMENTS_OF_ACCOUNT, [accountId, rows])))
    .isWhole;

/** Deletes the statements that a query finds. @returns how many it found. */
async function deleteFound(database: DataSource, read: string, values: readonly unknown[]): Promise<number> {
  const found = await database.query<{ id: string }[]>(read, [...values]);
  const ids = found.map(({ id }) => id);
  await inTransaction(database, (sql) => deleteByIds(sql, DELETE_STATEMENTS, [], ids));
  return ids.length;
}
