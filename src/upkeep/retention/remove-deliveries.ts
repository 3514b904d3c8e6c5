import type { DataSource } from 'typeorm';
import { deleteByIds } from '../../database/delete-by-ids.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { deleteRows, leastId, repeatInOrder, type Steps } from './steps.ts';

/** Removes old deliveries that have ended, with their attempts and dead letters, and old attempts, which only the log of a delivery reads. */

/**
 * Redeliveries and new replays also lock this row. While it is locked, only a replay that is already open can make an ended delivery
 * pending again.
 */
export const LOCK_WEBHOOK = 'SELECT status FROM webhooks WHERE id = ? FOR UPDATE';

/** Indexes: the primary key, and replays_open. */
const READ_CURSOR = `
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
  const [webhook] = await sql.query<{ status: string }[]>(LOCK_WEBHOOK, [webhookId]);
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
  const [cursor] = await sql.query<{ sent_through: string; replay_position: string | null }[]>(READ_CURSOR, [
    webhookId,
  ]);
  return cursor === undefined ? 0n : leastId(through, cursor.sent_through, cursor.replay_position);
}

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
