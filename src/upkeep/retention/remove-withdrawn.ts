import type { DataSource } from 'typeorm';
import { deleteByIds } from '../../database/delete-by-ids.ts';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { deleteDetails } from '../../movements/delete-movements.ts';
import { HOLD_FEEDS, lastRemovable, SET_REMOVED_THROUGH } from './remove-movements.ts';
import { deleteRows, repeatInOrder, repeatWhileFull, type Steps } from './steps.ts';

/** Removes movements that were withdrawn long ago, and withdrawn movements and statements of an account that is deleted. */

/** The ids of a withdrawn movement and of its withdrawal event. */
export interface WithdrawnIds {
  id: string;
  event_id: string;
}

/** Index: withdrawn_transactions_customer. */
const READ_OLD = `
  SELECT id, event_id FROM withdrawn_transactions FORCE INDEX (withdrawn_transactions_customer)
  WHERE customer_id = ? AND event_id > ? AND event_id <= ? AND id <= ? AND withdrawn_at < ? ORDER BY customer_id, event_id LIMIT ?`;

const DELETE_WITHDRAWN =
  'DELETE w FROM withdrawn_transactions w FORCE INDEX (PRIMARY) WHERE w.event_id IN (?)';

/** Deletes withdrawn movements with their details. @param sql a transaction. */
export async function deleteWithdrawn(sql: Sql, withdrawn: readonly WithdrawnIds[]): Promise<void> {
  await deleteByIds(
    sql,
    DELETE_WITHDRAWN,
    [],
    withdrawn.map(({ event_id }) => event_id),
  );
  await deleteDetails(
    sql,
    withdrawn.map(({ id }) => id),
  );
}

/**
 * Removes a customer's movements that were withdrawn before a moment, and that no webhook needs any more.
 * @returns how many were removed.
 */
export const removeWithdrawn = (
  database: DataSource,
  steps: Steps,
  { customerId, before }: { customerId: string; before: Date },
): Promise<number> =>
  repeatInOrder(steps, (after, rows) =>
    inTransaction(database, async (sql) => {
      await sql.query(HOLD_FEEDS, [customerId]);
      const end = String(await lastRemovable(sql, customerId, LAST_ID));
      const old = await sql.query<WithdrawnIds[]>(READ_OLD, [customerId, after, end, end, before, rows]);
      const last = old.at(-1)?.event_id;
      if (last === undefined) return { count: 0, last: null };
      await sql.query(SET_REMOVED_THROUGH, [last, customerId, last]);
      await deleteWithdrawn(sql, old);
      return { count: old.length, last: old.length < rows ? null : last };
    }),
  );

/** Larger than every id. */
const LAST_ID = 2n ** 63n;

/** Withdrawals that ended long ago. Index: withdrawals_finished. */
const READ_ENDED =
  'SELECT id FROM withdrawals FORCE INDEX (withdrawals_finished) WHERE finished_at < ? LIMIT ?';
/** Index: withdrawn_statements_withdrawal. */
const DELETE_STATEMENTS_OF =
  'DELETE s FROM withdrawn_statements s FORCE INDEX (withdrawn_statements_withdrawal) WHERE s.withdrawal_id IN (?)';
const DELETE_WITHDRAWALS = 'DELETE o FROM withdrawals o FORCE INDEX (PRIMARY) WHERE o.id IN (?)';

/** Removes withdrawals that ended before a moment, with their statements. */
export const removeWithdrawals = (database: DataSource, steps: Steps, before: Date): Promise<unknown> =>
  repeatWhileFull(steps, async (rows) => {
    const ended = await database.query<{ id: string }[]>(READ_ENDED, [before, rows]);
    const ids = ended.map(({ id }) => id);
    await inTransaction(database, async (sql) => {
      await deleteByIds(sql, DELETE_STATEMENTS_OF, [], ids);
      await deleteByIds(sql, DELETE_WITHDRAWALS, [], ids);
    });
    return ids.length;
  });

/** Index: withdrawn_statements_account. */
const DELETE_STATEMENTS = 'DELETE FROM withdrawn_statements WHERE account_id = ? LIMIT ?';

/** Deletes the withdrawn statements of an account. @returns false if it was stopped before. */
export const deleteWithdrawnStatements = async (
  database: DataSource,
  steps: Steps,
  accountId: string,
): Promise<boolean> => (await deleteRows(database, steps, DELETE_STATEMENTS, [accountId])).isWhole;
