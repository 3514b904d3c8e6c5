import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { LOCK_WEBHOOK } from './remove-deliveries.ts';
import { deleteRows, type Steps } from './steps.ts';

/** Removes unused filters, finished replays and deleted webhooks. */

/** Index: the primary key. */
const NEEDED_FROM = 'SELECT MAX(from_id) AS id FROM webhook_filters WHERE webhook_id = ? AND from_id <= ?';
const DELETE_FILTERS =
  'DELETE FROM webhook_filters WHERE webhook_id = ? AND from_id < ? ORDER BY from_id LIMIT ?';

/** Index: replays_open. */
const DELETE_REPLAYS = 'DELETE FROM replays WHERE webhook_id = ? AND finished_at < ? LIMIT ?';

/** Finds a deleted webhook or template if nothing of it is left to show. Indexes: the primary keys, and webhooks_of_template. */
const IS_EMPTY = `
  SELECT w.id FROM webhooks w JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.id = ? AND w.status = 'deleted' AND b.matched_through <= ?
    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.webhook_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM webhooks t WHERE t.template_id = w.id)`;

/** A table comes before the table that its foreign key refers to. */
const DELETE_WEBHOOK = [
  'DELETE FROM retries WHERE webhook_id = ?',
  'DELETE FROM rejected_batches WHERE webhook_id = ?',
  'DELETE FROM replays WHERE webhook_id = ?',
  'DELETE FROM webhook_filters WHERE webhook_id = ?',
  'DELETE FROM webhook_backlogs WHERE webhook_id = ?',
  'DELETE FROM webhook_cursors WHERE webhook_id = ?',
  'DELETE FROM webhook_templates WHERE webhook_id = ?',
  'DELETE FROM webhooks WHERE id = ?',
];

/** Removes the filters of a webhook that apply only to movements up to an id. @returns how many filters were removed. */
export async function removeFilters(
  database: DataSource,
  steps: Steps,
  webhookId: string,
  through: bigint,
): Promise<number> {
  const [needed] = await database.query<{ id: string | null }[]>(NEEDED_FROM, [webhookId, String(through)]);
  if (needed?.id == null) return 0;
  return (await deleteRows(database, steps, DELETE_FILTERS, [webhookId, needed.id])).count;
}

/** Removes the replays of a webhook that were finished before a moment. @returns how many replays were removed. */
export const removeReplays = async (
  database: DataSource,
  steps: Steps,
  webhookId: string,
  before: Date,
): Promise<number> => (await deleteRows(database, steps, DELETE_REPLAYS, [webhookId, before])).count;

/**
 * Removes a deleted webhook that has no deliveries left and matched no movement after `through`.
 * @returns whether the webhook was removed.
 */
export function removeDeletedWebhook(
  database: DataSource,
  webhookId: string,
  through: bigint,
): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    await sql.query(LOCK_WEBHOOK, [webhookId]);
    const empty = await sql.query<unknown[]>(IS_EMPTY, [webhookId, String(through)]);
    if (empty.length === 0) return false;
    await deleteWebhookRows(sql, webhookId);
    return true;
  });
}

/** Deletes all rows of a webhook that has no deliveries any more. @param sql a transaction. */
export async function deleteWebhookRows(sql: Sql, webhookId: string): Promise<void> {
  for (const statement of DELETE_WEBHOOK) await sql.query(statement, [webhookId]);
}
