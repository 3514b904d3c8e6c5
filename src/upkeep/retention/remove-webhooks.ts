import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { deleteByIds, deleteRows, leastId, repeatInOrder, type Steps } from './steps.ts';

/** Removes old deliveries that have ended, with their attempts and dead letters. */

/**
 * Redeliveries and new replays also lock this row. While it is locked, only a replay that is already open can make an ended delivery
 * pending again.
 */
const LOCK = 'SELECT status FROM webhooks WHERE id = ? FOR UPDATE';

/** Indexes: the primary key, and replays_open. */
const CURSOR = `
  SELECT c.sent_through, (SELECT MIN(p.position) FROM replays p FORCE INDEX (replays_open)
    WHERE p.webhook_id = c.webhook_id AND p.finished_at IS NULL) AS replay_position
  FROM webhook_cursors c WHERE c.webhook_id = ?`;

/** Index: the primary key. */
const READ_DELIVERIES = `
  SELECT transaction_id, status, started_at FROM deliveries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ? ORDER BY transaction_id LIMIT ?`;

/** The order in which other transactions lock these tables. */
const TABLES = ['deliveries', 'attempts', 'retries'];

/** Index: the primary keys. */
const DELETE_DELIVERIES = TABLES.map(
  (table) => `DELETE FROM ${table} WHERE webhook_id = ? AND transaction_id IN (?)`,
);

/** Takes a third of the time of DELETE_DELIVERIES. Index: the primary keys. */
const DELETE_RANGE = TABLES.map(
  (table) => `DELETE FROM ${table} WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ?`,
);

/** The answer to a rejected batch may have data of each of its events. Index: rejected_batches_webhook. */
const DELETE_BATCHES_OF_DELIVERIES =
  'DELETE FROM rejected_batches WHERE webhook_id = ? AND last_id >= ? AND first_id <= ?';

/**
 * Deletes deliveries of a webhook with their attempts and retries, and the rejected batches that may have had one of them.
 * @param sql a transaction. @param transactionIds in ascending order.
 */
export async function deleteDeliveries(
  sql: Sql,
  webhookId: string,
  transactionIds: readonly string[],
): Promise<void> {
  for (const statement of DELETE_DELIVERIES) await deleteByIds(sql, statement, [webhookId], transactionIds);
  const [first] = transactionIds;
  if (first !== undefined)
    await sql.query(DELETE_BATCHES_OF_DELIVERIES, [webhookId, first, transactionIds.at(-1)]);
}

interface Range {
  webhookId: string;
  /** Movements up to this id are old enough. */
  through: bigint;
  /** A delivery whose last attempt began at or after this moment is kept. */
  before: Date;
}

/**
 * Removes the old deliveries of a webhook. Pending deliveries stay. Rows beyond the cursor stay, because a run would send their movements
 * again without a row. Deliveries that an open replay has not reached yet stay. For a deleted webhook, all old deliveries are removed.
 * @returns how many deliveries were removed.
 */
export const removeDeliveries = (database: DataSource, steps: Steps, range: Range): Promise<number> =>
  repeatInOrder(steps, (after, rows) =>
    inTransaction(database, (sql) => removeSomeDeliveries(sql, range, after, rows)),
  );

/** @returns `last`: the last movement that was looked at; null: none is left. */
async function removeSomeDeliveries(
  sql: Sql,
  { webhookId, through, before }: Range,
  after: string,
  rows: number,
): Promise<{ count: number; last: string | null }> {
  const [webhook] = await sql.query<{ status: string }[]>(LOCK, [webhookId]);
  if (webhook === undefined) return { count: 0, last: null };
  const isDeleted = webhook.status === 'deleted';
  const last = isDeleted ? through : await lastRemovable(sql, webhookId, through);
  const deliveries = await sql.query<{ transaction_id: string; status: string; started_at: Date }[]>(
    READ_DELIVERIES,
    [webhookId, after, String(last), rows],
  );
  const old = deliveries.filter(
    ({ status, started_at }) => (isDeleted || status !== 'pending') && started_at < before,
  );
  const ids = old.map(({ transaction_id }) => transaction_id);
  const newest = deliveries.at(-1)?.transaction_id ?? null;
  // All deliveries of the range have been read and are old. None becomes pending while the webhook is locked.
  if (ids.length === deliveries.length && newest !== null) {
    for (const statement of DELETE_RANGE) await sql.query(statement, [webhookId, after, newest]);
    await sql.query(DELETE_BATCHES_OF_DELIVERIES, [webhookId, ids[0], newest]);
  } else await deleteDeliveries(sql, webhookId, ids);
  return { count: ids.length, last: deliveries.length < rows ? null : newest };
}

async function lastRemovable(sql: Sql, webhookId: string, through: bigint): Promise<bigint> {
  const [cursor] = await sql.query<{ sent_through: string; replay_position: string | null }[]>(CURSOR, [
    webhookId,
  ]);
  return cursor === undefined ? 0n : leastId(through, cursor.sent_through, cursor.replay_position);
}

/** Removes old attempts. Only the log of a delivery reads them. */

/** Index: the primary key. */
const READ_ATTEMPTS = `
  SELECT transaction_id FROM attempts FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ? ORDER BY transaction_id, number LIMIT ?`;

/** Index: the primary key. */
const DELETE_ATTEMPTS = `
  DELETE FROM attempts WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ? AND started_at < ?`;

/**
 * Removes a webhook's attempts that began before a moment, for movements up to `through`.
 * @returns how many attempts were removed.
 */
export const removeAttempts = (
  database: DataSource,
  steps: Steps,
  { webhookId, through, before }: Range,
): Promise<number> =>
  repeatInOrder(steps, async (after, rows) => {
    const values = [webhookId, after, String(through), rows];
    const found = await database.query<{ transaction_id: string }[]>(READ_ATTEMPTS, values);
    const last = found.at(-1)?.transaction_id;
    if (last === undefined) return { count: 0, last: null };
    const { affectedRows } = await inTransaction(database, (sql) =>
      sql.query<WriteResult>(DELETE_ATTEMPTS, [webhookId, after, last, before]),
    );
    return { count: affectedRows, last: found.length === rows ? last : null };
  });

/** Index: rejected_batches_started. */
const DELETE_OLD_REJECTED_BATCHES = 'DELETE FROM rejected_batches WHERE started_at < ? LIMIT ?';

/** Removes rejected batches that began before a moment. Only the log of a delivery reads them. */
export const removeRejectedBatches = async (
  database: DataSource,
  steps: Steps,
  before: Date,
): Promise<void> => void (await deleteRows(database, steps, DELETE_OLD_REJECTED_BATCHES, [before]));

/** Removes unused filters, finished replays and deleted webhooks. */

/** Index: the primary key. */
const NEEDED_FROM = 'SELECT MAX(from_id) AS id FROM webhook_filters WHERE webhook_id = ? AND from_id <= ?';
const DELETE_FILTERS =
  'DELETE FROM webhook_filters WHERE webhook_id = ? AND from_id < ? ORDER BY from_id LIMIT ?';

/** Index: replays_open. */
const DELETE_REPLAYS = 'DELETE FROM replays WHERE webhook_id = ? AND finished_at < ? LIMIT ?';

/** Finds a deleted webhook if nothing of it is left to show. Indexes: the primary keys. */
const IS_EMPTY = `
  SELECT w.id FROM webhooks w JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.id = ? AND w.status = 'deleted' AND b.matched_through <= ?
    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.webhook_id = w.id)`;

/** A table comes before the table that its foreign key refers to. */
const DELETE_WEBHOOK = [
  'DELETE FROM retries WHERE webhook_id = ?',
  'DELETE FROM rejected_batches WHERE webhook_id = ?',
  'DELETE FROM replays WHERE webhook_id = ?',
  'DELETE FROM webhook_filters WHERE webhook_id = ?',
  'DELETE FROM webhook_backlogs WHERE webhook_id = ?',
  'DELETE FROM webhook_cursors WHERE webhook_id = ?',
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
    await sql.query(LOCK, [webhookId]);
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

/** Removes old operational events with their deliveries. */

/** Index: customers_operator. */
const OPERATOR = 'SELECT id FROM customers WHERE is_operator = 1';

/** Index: webhooks_customer. */
const WEBHOOKS = `
  SELECT id FROM webhooks FORCE INDEX (webhooks_customer) WHERE customer_id IN (?) AND event IN ${EVENTS_WITHOUT_MOVEMENTS}`;

/** Finds the webhooks that may have been sent the events of these customers. */
export async function findRecipients(sql: Sql, customerIds: readonly (string | null)[]): Promise<string[]> {
  const operators = await sql.query<{ id: string }[]>(OPERATOR);
  const customers = new Set([...operators.map(({ id }) => id), ...customerIds]);
  if (customers.size === 0) return [];
  return (await sql.query<{ id: string }[]>(WEBHOOKS, [[...customers]])).map(({ id }) => id);
}

/** Index: operational_events_created. */
const READ_EVENTS = `
  SELECT id, customer_id FROM operational_events FORCE INDEX (operational_events_created)
  WHERE created_at < ? AND id > ? AND dispatched_at IS NOT NULL ORDER BY created_at, id LIMIT ?`;

/** Redeliveries and new replays also lock these rows. */
const LOCK_WEBHOOKS = 'SELECT id FROM webhooks WHERE id IN (?) ORDER BY id FOR UPDATE';

/** Finds an open replay, because events that it has not reached yet must stay. Open replays are rare. Index: replays_open. */
const REPLAYING = `
  SELECT 1 FROM replays FORCE INDEX (replays_open) WHERE webhook_id IN (?) AND finished_at IS NULL LIMIT 1`;

/** Events with a delivery that is pending, or was attempted since. Ignores deleted webhooks. Indexes: the primary keys. */
const NEEDED = `
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
    const replaying = await sql.query<unknown[]>(REPLAYING, [webhookIds]);
    if (replaying.length > 0) return 0;
    const rows = await sql.query<{ id: string }[]>(NEEDED, [webhookIds, ids, webhookIds, ids, before]);
    for (const { id } of rows) needed.add(id);
  }
  const old = ids.filter((id) => !needed.has(id));
  if (old.length === 0) return 0;
  for (const webhookId of webhookIds) await deleteDeliveries(sql, webhookId, old);
  await deleteByIds(sql, DELETE_EVENTS, [], old);
  return old.length;
}
