import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';

/** Deliveries made due at a time: they share the run with new movements and with other retries. */
const EXPANDED = 200;

/** The oldest replay that is not finished. Index: replays_open. */
const READ_REPLAY = `
  SELECT id, customer_id, statuses, account_ids, position, until_id FROM replays
  WHERE webhook_id = ? AND finished_at IS NULL ORDER BY id LIMIT 1 FOR UPDATE`;

/** By the primary key, in the order of the movements' ids. */
const READ_DELIVERED = `
  SELECT d.transaction_id FROM deliveries d
  WHERE d.webhook_id = ? AND d.transaction_id > ? AND d.transaction_id <= ? AND d.status IN (?)`;

/** Those that have failed for good are a part of one index. */
const READ_FAILED = `
  SELECT r.transaction_id FROM retries r FORCE INDEX (retries_due)
  WHERE r.webhook_id = ? AND r.transaction_id > ? AND r.transaction_id <= ? AND r.due_at IS NULL`;

const OF_ACCOUNTS = (id: string) =>
  `AND EXISTS (SELECT 1 FROM transactions t WHERE t.id = ${id} AND t.account_id IN (?))`;

const KEEP_LAST_ATTEMPT = `
  INSERT INTO attempts (webhook_id, transaction_id, number, customer_id, outcome, status_code, started_at, duration_ms, error, response)
  SELECT webhook_id, transaction_id, attempts, customer_id, outcome, status_code, started_at, duration_ms, error, response
  FROM deliveries WHERE webhook_id = ? AND transaction_id IN (?)
  ON DUPLICATE KEY UPDATE number = VALUES(number)`;

const MAKE_DUE = `
  INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
  SELECT webhook_id, transaction_id, customer_id, NOW(6), attempts, 0
  FROM deliveries WHERE webhook_id = ? AND transaction_id IN (?)
  ON DUPLICATE KEY UPDATE due_at = VALUES(due_at), failures = 0`;

const MAKE_PENDING = `
  UPDATE deliveries SET status = 'pending' WHERE webhook_id = ? AND transaction_id IN (?) AND status = ?`;

const COUNT = `
  UPDATE webhook_cursors SET delivered_count = delivered_count - ?, failed_count = failed_count - ? WHERE webhook_id = ?`;

const ADVANCE = `
  UPDATE replays SET position = ?, replayed = replayed + ?, finished_at = IF(?, NOW(6), NULL) WHERE id = ?`;

const OTHERS = 'SELECT 1 FROM replays WHERE webhook_id = ? AND finished_at IS NULL LIMIT 1';

interface ReplayRow {
  id: string;
  statuses: string;
  account_ids: string | null;
  position: string;
  until_id: string;
}

/**
 * Makes ended deliveries pending and due now, with the whole retry schedule before them. Their last attempts are kept in the log.
 * @param sql a transaction.
 * @param ids of their movements; what is pending already stays so.
 */
export async function makeDue(sql: Sql, webhookId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql.query(KEEP_LAST_ATTEMPT, [webhookId, ids]);
  await sql.query(MAKE_DUE, [webhookId, ids]);
  const delivered = await sql.query<WriteResult>(MAKE_PENDING, [webhookId, ids, 'delivered']);
  const failed = await sql.query<WriteResult>(MAKE_PENDING, [webhookId, ids, 'failed']);
  await sql.query(COUNT, [delivered.affectedRows, failed.affectedRows, webhookId]);
}

/**
 * Works off a part of the webhook's oldest replay.
 * @returns how many deliveries became due, and whether replays are left.
 */
export function expandReplay(
  database: DataSource,
  webhookId: string,
): Promise<{ added: number; replaying: boolean }> {
  return inTransaction(database, async (sql) => {
    const [replay] = await sql.query<ReplayRow[]>(READ_REPLAY, [webhookId]);
    if (replay === undefined) return { added: 0, replaying: false };
    const found = await findEnded(sql, webhookId, replay);
    await makeDue(
      sql,
      webhookId,
      found.map(({ transaction_id }) => transaction_id),
    );
    const isFinished = found.length < EXPANDED;
    const position = isFinished ? replay.until_id : found.at(-1)?.transaction_id;
    await sql.query<WriteResult>(ADVANCE, [position, found.length, isFinished ? 1 : 0, replay.id]);
    const others = isFinished ? await sql.query<unknown[]>(OTHERS, [webhookId]) : [replay];
    return { added: found.length, replaying: others.length > 0 };
  });
}

function findEnded(sql: Sql, webhookId: string, replay: ReplayRow): Promise<{ transaction_id: string }[]> {
  const statuses = replay.statuses.split(',');
  const accounts = replay.account_ids?.split(',') ?? null;
  const onlyFailed = statuses.length === 1 && statuses[0] === 'failed';
  const [read, id] = onlyFailed ? [READ_FAILED, 'r.transaction_id'] : [READ_DELIVERED, 'd.transaction_id'];
  const statement = `${read} ${accounts === null ? '' : OF_ACCOUNTS(id)} ORDER BY ${id} LIMIT ${EXPANDED}`;
  return sql.query<{ transaction_id: string }[]>(statement, [
    webhookId,
    replay.position,
    replay.until_id,
    ...(onlyFailed ? [] : [statuses]),
    ...(accounts === null ? [] : [accounts]),
  ]);
}
