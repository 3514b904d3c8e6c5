import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../platform/database/transaction.ts';
import { lockCursor, makePendingAgain } from './redelivery.ts';

/** Turns a replay into retries, 200 deliveries at a time. */

/** How many deliveries are made due at a time. They share the run with new movements and with other retries. */
const BATCH_SIZE = 200;

/** The oldest unfinished replay. Index: replays_open. */
const READ_REPLAY = `
  SELECT id, statuses, account_ids, position, until_id FROM replays
  WHERE webhook_id = ? AND finished_at IS NULL ORDER BY id LIMIT 1`;

/** Index: the primary key, in the order of the movements' ids. */
const READ_BY_STATUS = `
  SELECT d.transaction_id FROM deliveries d
  WHERE d.webhook_id = ? AND d.transaction_id > ? AND d.transaction_id <= ? AND d.status IN (?)`;

/** Deliveries that have failed for good (due_at NULL) form one range of the index retries_due. */
const READ_FAILED = `
  SELECT r.transaction_id FROM retries r FORCE INDEX (retries_due)
  WHERE r.webhook_id = ? AND r.transaction_id > ? AND r.transaction_id <= ? AND r.due_at IS NULL`;

const OF_ACCOUNTS = (id: string) =>
  `AND EXISTS (SELECT 1 FROM transactions t WHERE t.id = ${id} AND t.account_id IN (?))`;

const ADVANCE = `
  UPDATE replays SET position = ?, replayed = replayed + ?, finished_at = IF(?, NOW(6), NULL) WHERE id = ?`;

const OPEN_REPLAYS = 'SELECT 1 FROM replays WHERE webhook_id = ? AND finished_at IS NULL LIMIT 1';

interface ReplayRow {
  id: string;
  statuses: string;
  account_ids: string | null;
  position: string;
  until_id: string;
}

/**
 * Makes the next deliveries of the webhook's oldest replay due as retries.
 * @returns how many deliveries became due, and whether replays are left.
 */
export function expandReplay(
  database: DataSource,
  webhookId: string,
): Promise<{ added: number; replaying: boolean }> {
  return inTransaction(database, async (sql) => {
    // The search may take long, so it runs before the cursor is locked. The lock prevents recording results and renewing the lease.
    const [replay] = await sql.query<ReplayRow[]>(READ_REPLAY, [webhookId]);
    if (replay === undefined) return { added: 0, replaying: false };
    const found = await findEnded(sql, webhookId, replay);
    await lockCursor(sql, webhookId);
    const [locked] = await sql.query<ReplayRow[]>(`${READ_REPLAY} FOR UPDATE`, [webhookId]);
    // Another run has continued the replay in the meantime.
    if (locked?.id !== replay.id || locked.position !== replay.position) return { added: 0, replaying: true };
    const added = await makePendingAgain(
      sql,
      webhookId,
      found.map(({ transaction_id }) => transaction_id),
    );
    const isFinished = found.length < BATCH_SIZE;
    const position = isFinished ? replay.until_id : found.at(-1)?.transaction_id;
    await sql.query(ADVANCE, [position, added, isFinished ? 1 : 0, replay.id]);
    const open = isFinished ? await sql.query<unknown[]>(OPEN_REPLAYS, [webhookId]) : [replay];
    return { added, replaying: open.length > 0 };
  });
}

function findEnded(sql: Sql, webhookId: string, replay: ReplayRow): Promise<{ transaction_id: string }[]> {
  const statuses = replay.statuses.split(',');
  const accounts = replay.account_ids?.split(',') ?? null;
  const onlyFailed = statuses.length === 1 && statuses[0] === 'failed';
  const [read, id] = onlyFailed ? [READ_FAILED, 'r.transaction_id'] : [READ_BY_STATUS, 'd.transaction_id'];
  const statement = `${read} ${accounts === null ? '' : OF_ACCOUNTS(id)} ORDER BY ${id} LIMIT ${BATCH_SIZE}`;
  return sql.query<{ transaction_id: string }[]>(statement, [
    webhookId,
    replay.position,
    replay.until_id,
    ...(onlyFailed ? [] : [statuses]),
    ...(accounts === null ? [] : [accounts]),
  ]);
}
