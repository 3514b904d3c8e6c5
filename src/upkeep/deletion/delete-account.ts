import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { lockImports } from '../../delivery/filters.ts';
import { endPending, stopWebhooks } from '../../delivery/stop-sending.ts';
import { stopSources } from '../../sources/sources.ts';
import { deleteDeliveries } from '../retention/remove-deliveries.ts';
import { findRecipients } from '../retention/remove-events.ts';
import { removeDetails } from '../retention/remove-imports.ts';
import { deleteMovements } from '../retention/remove-movements.ts';
import { deleteStatements } from '../retention/remove-statements.ts';
import { deleteByIds, type Steps } from '../retention/steps.ts';

/** Indexes: webhooks_customer, and the primary key of webhook_filters. */
const MATCHING = `
  SELECT w.id, w.status = 'deleted' AS is_deleted FROM webhooks w
  WHERE w.customer_id = ? AND EXISTS (
    SELECT 1 FROM webhook_filters f
    WHERE f.webhook_id = w.id AND f.event IS NOT NULL AND (f.account_id IS NULL OR f.account_id = ?))`;

/** Failed imports keep their bodies for a retry, but now a retry would reject every row. Index: imports_status. */
const FAILED_IMPORTS =
  "SELECT id FROM imports FORCE INDEX (imports_status) WHERE status = 'failed' AND customer_id = ? AND account_id = ?";

const LEFT = `
  SELECT 1 FROM transactions FORCE INDEX (transactions_account_page) WHERE account_id = ? LIMIT 1`;

/** A webhook that was deleted with the account may have matched other accounts before, so its row and its log stay. Sources stay too. */
const DELETE = [
  'UPDATE webhooks SET account_id = NULL WHERE account_id = ?',
  'UPDATE sources SET account_id = NULL WHERE account_id = ?',
  'DELETE FROM source_accounts WHERE account_id = ?',
  'DELETE FROM api_key_accounts WHERE account_id = ?',
  'DELETE FROM accounts WHERE id = ?',
];
const DELETE_SEGMENTS = 'DELETE FROM transaction_segments WHERE customer_id = ? AND account_id = ?';
const END = 'DELETE FROM deletions WHERE customer_id = ? AND account_id = ?';

/** Finds the webhooks that match an account now or did before, and so may have deliveries of it. */
export async function findMatchingWebhooks(
  database: DataSource,
  customerId: string,
  accountId: string,
): Promise<MatchingWebhooks> {
  const rows = await database.query<{ id: string; is_deleted: number | string }[]>(MATCHING, [
    customerId,
    accountId,
  ]);
  const ids = (isDeleted: number) =>
    rows.filter((row) => Number(row.is_deleted) === isDeleted).map(({ id }) => id);
  return { live: ids(0), deleted: ids(1) };
}

/**
 * Continues to delete an account. After a crash, the work continues where it was, because each step is complete in itself.
 * @returns false if something is left, because the work was stopped or a delivery run kept its webhook's lease.
 */
export async function deleteAccount(
  database: DataSource,
  steps: Steps,
  { customerId, accountId }: { customerId: string; accountId: string },
): Promise<boolean> {
  const webhooks = await findMatchingWebhooks(database, customerId, accountId);
  for (const webhookId of webhooks.live) {
    if (!(await endPending(database, steps, { webhookId, accountId }))) return false;
  }
  const options = { customerId, accountId, countedIn: accountId, webhooks };
  if (!(await deleteAccountMovements(database, steps, options))) return false;
  if (!(await deleteStatements(database, steps, accountId))) return false;
  if (!(await deleteEvents(database, steps, { customerId, accountId }))) return false;
  const failed = await database.query<{ id: string }[]>(FAILED_IMPORTS, [customerId, accountId]);
  for (const { id } of failed) if (!(await removeDetails(database, steps, id, 'any'))) return false;
  return deleteRow(database, customerId, accountId);
}

/** Index: operational_events_account. */
const EVENTS = 'SELECT id FROM operational_events WHERE account_id = ? ORDER BY account_id, id LIMIT ?';
/** Index: the primary key. */
const PENDING_EVENTS =
  'SELECT transaction_id AS id FROM retries WHERE webhook_id IN (?) AND transaction_id IN (?) AND due_at IS NOT NULL';
const DELETE_EVENTS = 'DELETE FROM operational_events WHERE id IN (?)';

/**
 * Deletes the events about an account, with their deliveries. A pending delivery fails, because its event is gone.
 * @returns false if the work was stopped early.
 */
async function deleteEvents(
  database: DataSource,
  steps: Steps,
  { customerId, accountId }: { customerId: string; accountId: string },
): Promise<boolean> {
  const webhooks = await findRecipients(database, [customerId]);
  return steps.repeat(async (rows) => {
    const ids = (await database.query<{ id: string }[]>(EVENTS, [accountId, rows])).map(({ id }) => id);
    if (ids.length === 0) return false;
    await inTransaction(database, async (sql) => {
      const pending = new Set(
        webhooks.length === 0
          ? []
          : (await sql.query<{ id: string }[]>(PENDING_EVENTS, [webhooks, ids])).map(({ id }) => id),
      );
      const ended = ids.filter((id) => !pending.has(id));
      for (const webhookId of webhooks) await deleteDeliveries(sql, webhookId, ended);
      await deleteByIds(sql, DELETE_EVENTS, [], ids);
    });
    return ids.length === rows;
  });
}

/** Deletes the account's own row. @returns false if a movement was stored in the meantime. */
function deleteRow(database: DataSource, customerId: string, accountId: string): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    const newest = await lockImports(sql, customerId);
    const left = await sql.query<unknown[]>(LEFT, [accountId]);
    if (left.length > 0) return false;
    // Another source or webhook may have been created for the account just when its deletion was requested.
    await stopSources(sql, { customerId, accountId });
    await stopWebhooks(sql, { customerId, accountId, newest });
    for (const statement of DELETE) await sql.query(statement, [accountId]);
    await sql.query(DELETE_SEGMENTS, [customerId, accountId]);
    await sql.query(END, [customerId, accountId]);
    return true;
  });
}

/** Deletes the movements of an account, each with all of its deliveries. */

/** The most lookups in a step. Each webhook is looked up for each movement, so this limits the movements of a step. */
const MOST_LOOKUPS = 4_000;
const LEAST_MOVEMENTS = 20;

/** Index: transactions_account_page. */
const READ = `
  SELECT id FROM transactions FORCE INDEX (transactions_account_page)
  WHERE account_id = ? AND id > ? ORDER BY account_id, id LIMIT ?`;

/** A redelivery may have come just when the deletion was requested. Index: the primary key. */
const PENDING = `
  SELECT 1 FROM deliveries FORCE INDEX (PRIMARY) WHERE webhook_id IN (?) AND transaction_id IN (?) AND status = 'pending' LIMIT 1`;

const COUNT_DELETED = `
  UPDATE deletions SET movements_deleted = movements_deleted + ? WHERE customer_id = ? AND account_id = ?`;

/** Webhooks that may have deliveries of the account. */
interface MatchingWebhooks {
  /** Webhooks that still send. */
  live: string[];
  deleted: string[];
}

/**
 * Deletes the movements of an account.
 * @param options.countedIn account_id of the deletion that shows the progress.
 * @returns false if the work was stopped early, or a delivery is pending again.
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

/** @returns the last movement that was deleted; null: nothing was deleted, because a delivery is pending. */
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
