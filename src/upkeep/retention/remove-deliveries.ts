import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { deleteByIds, type Steps } from './steps.ts';

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
const READ = `
  SELECT transaction_id, status, started_at FROM deliveries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ? ORDER BY transaction_id LIMIT ?`;

/** The order in which other transactions lock these tables. */
const TABLES = ['deliveries', 'attempts', 'retries'];

/** Index: the primary keys. */
const DELETE = TABLES.map((table) => `DELETE FROM ${table} WHERE webhook_id = ? AND transaction_id IN (?)`);

/** Takes a third of the time of DELETE. Index: the primary keys. */
const DELETE_RANGE = TABLES.map(
  (table) => `DELETE FROM ${table} WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ?`,
);

/** Deletes deliveries of a webhook with their attempts and retries. @param sql a transaction. */
export async function deleteDeliveries(
  sql: Sql,
  webhookId: string,
  transactionIds: readonly string[],
): Promise<void> {
  for (const statement of DELETE) await deleteByIds(sql, statement, [webhookId], transactionIds);
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
export async function removeDeliveries(database: DataSource, steps: Steps, range: Range): Promise<number> {
  let removed = 0;
  let after = '0';
  await steps.repeat(async (rows) => {
    const step = await inTransaction(database, (sql) => removeSome(sql, range, after, rows));
    removed += step.removed;
    after = step.last ?? after;
    return step.last !== null;
  });
  return removed;
}

/** @returns `last`: the last movement that was looked at; null: none is left. */
async function removeSome(
  sql: Sql,
  { webhookId, through, before }: Range,
  after: string,
  rows: number,
): Promise<{ removed: number; last: string | null }> {
  const [webhook] = await sql.query<{ status: string }[]>(LOCK, [webhookId]);
  if (webhook === undefined) return { removed: 0, last: null };
  const isDeleted = webhook.status === 'deleted';
  const last = isDeleted ? through : await lastRemovable(sql, webhookId, through);
  const deliveries = await sql.query<{ transaction_id: string; status: string; started_at: Date }[]>(READ, [
    webhookId,
    after,
    String(last),
    rows,
  ]);
  const old = deliveries.filter(
    ({ status, started_at }) => (isDeleted || status !== 'pending') && started_at < before,
  );
  const ids = old.map(({ transaction_id }) => transaction_id);
  const newest = deliveries.at(-1)?.transaction_id ?? null;
  // All deliveries of the range have been read and are old. None becomes pending while the webhook is locked.
  if (ids.length === deliveries.length && newest !== null)
    for (const statement of DELETE_RANGE) await sql.query(statement, [webhookId, after, newest]);
  else await deleteDeliveries(sql, webhookId, ids);
  return { removed: ids.length, last: deliveries.length < rows ? null : newest };
}

async function lastRemovable(sql: Sql, webhookId: string, through: bigint): Promise<bigint> {
  const [cursor] = await sql.query<{ sent_through: string; replay_position: string | null }[]>(CURSOR, [
    webhookId,
  ]);
  if (cursor === undefined) return 0n;
  const ends = [cursor.sent_through, cursor.replay_position].flatMap((id) =>
    id === null ? [] : [BigInt(id)],
  );
  return ends.reduce((least, end) => (end < least ? end : least), through);
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
export async function removeAttempts(
  database: DataSource,
  steps: Steps,
  { webhookId, through, before }: { webhookId: string; through: bigint; before: Date },
): Promise<number> {
  let removed = 0;
  let after = '0';
  await steps.repeat(async (rows) => {
    const found = await database.query<{ transaction_id: string }[]>(READ_ATTEMPTS, [
      webhookId,
      after,
      String(through),
      rows,
    ]);
    const last = found.at(-1)?.transaction_id;
    if (last === undefined) return false;
    const values = [webhookId, after, last, before];
    const { affectedRows } = await inTransaction(database, (sql) =>
      sql.query<WriteResult>(DELETE_ATTEMPTS, values),
    );
    removed += affectedRows;
    after = last;
    return found.length === rows;
  });
  return removed;
}
