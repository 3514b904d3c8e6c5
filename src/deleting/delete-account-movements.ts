import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { deleteMovements } from '../retention/delete-movements.ts';
import { deleteDeliveries } from '../retention/remove-deliveries.ts';
import type { Steps } from '../retention/steps.ts';

/** Deletes the movements of an account, each with all of its deliveries. */

/** Each webhook is looked up for each movement. A step has so few movements that these are at most as many. */
const MOST_LOOKUPS = 4_000;
const LEAST_MOVEMENTS = 20;

/** Index: transactions_account_page. */
const READ = `
  SELECT id FROM transactions FORCE INDEX (transactions_account_page)
  WHERE account_id = ? AND id > ? ORDER BY account_id, id LIMIT ?`;

/** A redelivery may have come at the moment at which the deletion was requested. Index: the primary key. */
const PENDING = `
  SELECT 1 FROM deliveries FORCE INDEX (PRIMARY) WHERE webhook_id IN (?) AND transaction_id IN (?) AND status = 'pending' LIMIT 1`;

const COUNT_DELETED = `
  UPDATE deletions SET movements_deleted = movements_deleted + ? WHERE customer_id = ? AND account_id = ?`;

/** Webhooks that may have deliveries of the account. */
export interface MatchingWebhooks {
  /** Those that still send. */
  live: string[];
  deleted: string[];
}

/**
 * Deletes the movements of an account.
 * @param options.countedIn account_id of the deletion that shows the progress.
 * @returns false if it was stopped before, or a delivery is pending again.
 */
export async function deleteAccountMovements(
  database: DataSource,
  steps: Steps,
  options: { customerId: string; accountId: string; countedIn: string; webhooks: MatchingWebhooks },
): Promise<boolean> {
  const { accountId, webhooks } = options;
  const all = webhooks.live.length + webhooks.deleted.length;
  let after = '0';
  let isFree = true;
  const isWhole = await steps.repeat(async (rows) => {
    const most = Math.max(LEAST_MOVEMENTS, Math.min(rows, Math.floor(MOST_LOOKUPS / Math.max(1, all))));
    const found = await database.query<{ id: string }[]>(READ, [accountId, after, most]);
    const ids = found.map(({ id }) => id);
    if (ids.length === 0) return false;
    const end = await inTransaction(database, (sql) => deleteSome(sql, ids, options));
    isFree = end !== null;
    after = end ?? after;
    return isFree;
  });
  return isWhole && isFree;
}

/** @returns the last movement that was deleted; null: nothing was, because a delivery is pending. */
async function deleteSome(
  sql: Sql,
  ids: readonly string[],
  {
    customerId,
    countedIn,
    webhooks: { live, deleted: gone },
  }: { customerId: string; countedIn: string; webhooks: MatchingWebhooks },
): Promise<string | null> {
  const pending = live.length === 0 ? [] : await sql.query<unknown[]>(PENDING, [live, ids]);
  if (pending.length > 0) return null;
  const { deleted, through } = await deleteMovements(sql, customerId, ids);
  const part = ids.filter((id) => BigInt(id) <= BigInt(through));
  for (const webhookId of [...live, ...gone]) await deleteDeliveries(sql, webhookId, part);
  await sql.query(COUNT_DELETED, [deleted, customerId, countedIn]);
  return through;
}
