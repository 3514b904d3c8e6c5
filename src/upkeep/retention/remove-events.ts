import type { DataSource } from 'typeorm';
import { findOperatorCustomer } from '../../customers/operator-customer.ts';
import { deleteByIds } from '../../database/delete-by-ids.ts';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { deleteDeliveries } from './remove-deliveries.ts';
import { repeatInOrder, type Steps } from './steps.ts';

/** Removes old operational events with their deliveries. */

/** Index: webhooks_customer. */
const FIND_EVENT_WEBHOOKS = `
  SELECT id FROM webhooks FORCE INDEX (webhooks_customer) WHERE customer_id IN (?) AND event IN ${EVENTS_WITHOUT_MOVEMENTS}`;

/** Finds the webhooks that may have been sent the events of these customers. */
export async function findRecipients(sql: Sql, customerIds: readonly (string | null)[]): Promise<string[]> {
  const operator = await findOperatorCustomer(sql);
  const customers = new Set([...(operator === null ? [] : [operator]), ...customerIds]);
  if (customers.size === 0) return [];
  return (await sql.query<{ id: string }[]>(FIND_EVENT_WEBHOOKS, [[...customers]])).map(({ id }) => id);
}

/** Index: operational_events_created. */
const READ_EVENTS = `
  SELECT id, customer_id FROM operational_events FORCE INDEX (operational_events_created)
  WHERE created_at < ? AND id > ? AND dispatched_at IS NOT NULL ORDER BY created_at, id LIMIT ?`;

/** Redeliveries and new replays also lock these rows. */
const LOCK_WEBHOOKS = 'SELECT id FROM webhooks WHERE id IN (?) ORDER BY id FOR UPDATE';

/** Finds an open replay, because events that it has not reached yet must stay. Open replays are rare. Index: replays_open. */
const FIND_OPEN_REPLAY = `
  SELECT 1 FROM replays FORCE INDEX (replays_open) WHERE webhook_id IN (?) AND finished_at IS NULL LIMIT 1`;

/** Events with a delivery that is pending, or was attempted since. Ignores deleted webhooks. Indexes: the primary keys. */
const FIND_NEEDED_EVENTS = `
  SELECT r.transaction_id AS id FROM retries r JOIN webhooks w ON w.id = r.webhook_id
  WHERE r.webhook_id IN (?) AND r.transaction_id IN (?) AND r.due_at IS NOT NULL AND w.status <> 'deleted'
  UNION
  SELECT transaction_id FROM deliveries WHERE webhook_id IN (?) AND transaction_id IN (?) AND started_at >= ?`;

const DELETE_EVENTS = 'DELETE FROM operational_events WHERE id IN (?)';

/**
 * Removes the events that were recorded before a moment, with their deliveries. An event with a pending delivery stays, for example a
 * delivery to a paused webhook. While a replay of a recipient is open, nothing is removed.
 * @returns how many events were removed.
 */
export const removeEvents = (database: DataSource, steps: Steps, before: Date): Promise<number> =>
  repeatInOrder(steps, async (after, rows) => {
    const values = [before, after, rows];
    const found = await database.query<{ id: string; customer_id: string | null }[]>(READ_EVENTS, values);
    const ids = found.map(({ id }) => id);
    if (ids.length === 0) return { count: 0, last: null };
    const webhookIds = await findRecipients(
      database,
      found.map(({ customer_id }) => customer_id),
    );
    const count = await inTransaction(database, (sql) => removeSomeEvents(sql, webhookIds, ids, before));
    return { count, last: ids.length === rows ? (ids.at(-1) ?? null) : null };
  });

async function removeSomeEvents(
  sql: Sql,
  webhookIds: readonly string[],
  ids: readonly string[],
  before: Date,
): Promise<number> {
  const needed = new Set<string>();
  if (webhookIds.length > 0) {
    await sql.query(LOCK_WEBHOOKS, [webhookIds]);
    const replaying = await sql.query<unknown[]>(FIND_OPEN_REPLAY, [webhookIds]);
    if (replaying.length > 0) return 0;
    const rows = await sql.query<{ id: string }[]>(FIND_NEEDED_EVENTS, [
      webhookIds,
      ids,
      webhookIds,
      ids,
      before,
    ]);
    for (const { id } of rows) needed.add(id);
  }
  const old = ids.filter((id) => !needed.has(id));
  if (old.length === 0) return 0;
  for (const webhookId of webhookIds) await deleteDeliveries(sql, webhookId, old);
  await deleteByIds(sql, DELETE_EVENTS, [], old);
  return old.length;
}
