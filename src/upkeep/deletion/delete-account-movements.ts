import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { failInFeeds, type RemovedMovement } from '../../delivery/stop-sending.ts';
import { deleteMovements } from '../../movements/delete-movements.ts';
import { deleteDeliveries } from '../retention/remove-deliveries.ts';
import { deleteWithdrawn, type WithdrawnIds } from '../retention/remove-withdrawn.ts';
import type { Steps } from '../retention/steps.ts';

/** Deletes the movements of an account, each with all of its deliveries. */

/** The most lookups in a step. Each webhook is looked up for each movement, so this limits the movements of a step. */
const MOST_LOOKUPS = 4_000;
const LEAST_MOVEMENTS = 20;

/** The most movements of a step that may change a number of rows. */
const mostOf = (rows: number, webhooks: number): number =>
  Math.max(LEAST_MOVEMENTS, Math.min(rows, Math.floor(MOST_LOOKUPS / Math.max(1, webhooks))));

/** Index: transactions_account_page. */
const READ_MOVEMENTS = `
  SELECT id FROM transactions FORCE INDEX (transactions_account_page)
  WHERE account_id = ? AND id > ? ORDER BY account_id, id LIMIT ?`;

/** Index: the primary key. */
const READ_BY_ID = 'SELECT id, account_id, dc FROM transactions WHERE id IN (?) ORDER BY id';

/** A redelivery may have come just when the deletion was requested. Index: the primary key. */
const FIND_PENDING_DELIVERY = `
  SELECT 1 FROM deliveries FORCE INDEX (PRIMARY) WHERE webhook_id IN (?) AND transaction_id IN (?) AND status = 'pending' LIMIT 1`;

const ADD_TO_MOVEMENTS_DELETED = `
  UPDATE deletions SET movements_deleted = movements_deleted + ? WHERE customer_id = ? AND account_id = ?`;

/** Webhooks that may have deliveries of the account. */
export interface MatchingWebhooks {
  /** Webhooks that still send. */
  live: string[];
  deleted: string[];
}

interface MovementsOfAccount {
  customerId: string;
  accountId: string;
  /** account_id of the deletion that shows the progress. */
  countedIn: string;
  webhooks: MatchingWebhooks;
}

/**
 * Deletes the movements of an account.
 * @returns false if the work was stopped early, or a delivery is pending again.
 */
export async function deleteAccountMovements(
  database: DataSource,
  steps: Steps,
  options: MovementsOfAccount,
): Promise<boolean> {
  const { accountId, webhooks } = options;
  const all = webhooks.live.length + webhooks.deleted.length;
  let after = '0';
  let isFree = true;
  const isWhole = await steps.repeat(async (rows) => {
    const found = await database.query<{ id: string }[]>(READ_MOVEMENTS, [
      accountId,
      after,
      mostOf(rows, all),
    ]);
    const ids = found.map(({ id }) => id);
    if (ids.length === 0) return false;
    const end = await inTransaction(database, (sql) => deleteSome(sql, ids, options));
    isFree = end !== null;
    after = end ?? after;
    return isFree;
  });
  return isWhole && isFree;
}

/** Index: withdrawn_transactions_account. */
const READ_WITHDRAWN = `
  SELECT id, event_id, account_id, dc FROM withdrawn_transactions FORCE INDEX (withdrawn_transactions_account)
  WHERE account_id = ? ORDER BY account_id, event_id LIMIT ?`;

/** Deletes the withdrawn movements of an account, each with the deliveries of itself and of its withdrawal. @returns as above. */
export async function deleteWithdrawnMovements(
  database: DataSource,
  steps: Steps,
  { accountId, webhooks: { live, deleted } }: Pick<MovementsOfAccount, 'accountId' | 'webhooks'>,
): Promise<boolean> {
  let isFree = true;
  const isWhole = await steps.repeat(async (rows) => {
    const found = await database.query<WithdrawnIds[]>(READ_WITHDRAWN, [
      accountId,
      mostOf(rows, live.length + deleted.length),
    ]);
    if (found.length === 0) return false;
    await inTransaction(database, async (sql) => {
      const ids = found.flatMap(({ id, event_id }) => [id, event_id]).toSorted(inOrder);
      const pending = live.length === 0 ? [] : await sql.query<unknown[]>(FIND_PENDING_DELIVERY, [live, ids]);
      isFree = pending.length === 0;
      if (!isFree) return;
      for (const webhookId of [...live, ...deleted]) await deleteDeliveries(sql, webhookId, ids);
      await deleteWithdrawn(sql, found);
    });
    return isFree;
  });
  return isWhole && isFree;
}

const inOrder = (one: string, other: string): number => Number(BigInt(one) - BigInt(other));

/** @returns the last movement that was deleted; null: nothing was deleted, because a delivery is pending. */
async function deleteSome(
  sql: Sql,
  ids: readonly string[],
  { customerId, countedIn, webhooks: { live, deleted: gone } }: MovementsOfAccount,
): Promise<string | null> {
  const pending = live.length === 0 ? [] : await sql.query<unknown[]>(FIND_PENDING_DELIVERY, [live, ids]);
  if (pending.length > 0) return null;
  const movements = live.length === 0 ? [] : await sql.query<RemovedMovement[]>(READ_BY_ID, [ids]);
  const { deleted, through } = await deleteMovements(sql, customerId, ids);
  await failInFeeds(
    sql,
    live,
    movements.filter(({ id }) => BigInt(id) <= BigInt(through)),
  );
  const part = ids.filter((id) => BigInt(id) <= BigInt(through));
  for (const webhookId of [...live, ...gone]) await deleteDeliveries(sql, webhookId, part);
  await sql.query(ADD_TO_MOVEMENTS_DELETED, [deleted, customerId, countedIn]);
  return through;
}
