import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { withdrawSome } from '../cancel-replay.ts';
import { lockCursor } from '../filters.ts';
import { accountOf } from '../subject.ts';
import { makePendingAgain } from './make-pending.ts';

/** Turns a replay into retries, 200 deliveries at a time. */

/** How many deliveries are made due at a time. They share the run with new movements and with other retries. */
const BATCH_SIZE = 200;

/** The oldest unfinished replay. Index: replays_open. */
const READ_REPLAY = `
  SELECT id, statuses, account_ids, position, until_id, to_come, cancelled_at FROM replays
  WHERE webhook_id = ? AND finished_at IS NULL ORDER BY id LIMIT 1`;

/** Index: the primary key, in the order of the movements' ids. */
const ENDED_IN_RANGE = `
  FROM deliveries d FORCE INDEX (PRIMARY)
  WHERE d.webhook_id = ? AND d.transaction_id > ? AND d.transaction_id <= ? AND d.status IN (?)`;

/** Deliveries that have failed for good (due_at NULL) form one range of the index retries_due. */
const FAILED_IN_RANGE = `
  FROM retries r FORCE INDEX (retries_due)
  WHERE r.webhook_id = ? AND r.transaction_id > ? AND r.transaction_id <= ? AND r.due_at IS NULL`;

const OF_ACCOUNTS = (id: string) => `AND ${accountOf(id)} IN (?)`;

const ADVANCE_REPLAY = `
  UPDATE replays SET position = ?, replayed = replayed + ?, to_come = CASE WHEN ? OR to_come <= ? THEN 0 ELSE to_come - ? END,
    started_at = COALESCE(started_at, NOW(6)), finished_at = IF(?, NOW(6), NULL)
  WHERE id = ?`;

const SET_TO_COME = 'UPDATE replays SET to_come = ? WHERE id = ? AND position = ? AND to_come IS NULL';

const FIND_OPEN_REPLAY = 'SELECT 1 FROM replays WHERE webhook_id = ? AND finished_at IS NULL LIMIT 1';

interface ReplayRow {
  id: string;
  statuses: string;
  account_ids: string | null;
  position: string;
  until_id: string;
  /** null: not counted yet. */
  to_come: string | null;
  cancelled_at: Date | null;
}

/**
 * Makes the next deliveries of the webhook's oldest replay due as retries. Before the first ones, counts all that are to come. If the
 * replay was cancelled, and the request that cancelled it did not end its deliveries, ends some of them.
 * @returns how many deliveries became due, and whether replays are left.
 */
export async function expandReplay(
  database: DataSource,
  webhookId: string,
): Promise<{ added: number; replaying: boolean }> {
  const [oldest] = await database.query<ReplayRow[]>(READ_REPLAY, [webhookId]);
  if (oldest === undefined) return { added: 0, replaying: false };
  if (oldest.cancelled_at !== null) {
    await inTransaction(database, (sql) => withdrawSome(sql, webhookId, oldest.id));
    return { added: 0, replaying: true };
  }
  if (oldest.to_come === null) await countToCome(database, webhookId, oldest);
  return inTransaction(database, async (sql) => {
    // The search may take long, so it runs before the cursor is locked. The lock prevents recording results and renewing the lease.
    const [replay] = await sql.query<ReplayRow[]>(READ_REPLAY, [webhookId]);
    if (replay === undefined) return { added: 0, replaying: false };
    const found = await findEnded(sql, webhookId, replay);
    await lockCursor(sql, webhookId);
    const [locked] = await sql.query<ReplayRow[]>(`${READ_REPLAY} FOR UPDATE`, [webhookId]);
    // Another run has continued the replay in the meantime, or it was cancelled.
    if (locked?.id !== replay.id || locked.position !== replay.position || locked.cancelled_at !== null)
      return { added: 0, replaying: true };
    const added = await makePendingAgain(
      sql,
      webhookId,
      found.map(({ transaction_id }) => transaction_id),
      replay.id,
    );
    const isFinished = found.length < BATCH_SIZE;
    const position = isFinished ? replay.until_id : found.at(-1)?.transaction_id;
    const { length } = found;
    const finished = isFinished ? 1 : 0;
    await sql.query(ADVANCE_REPLAY, [position, added, finished, length, length, finished, replay.id]);
    const open = isFinished ? await sql.query<unknown[]>(FIND_OPEN_REPLAY, [webhookId]) : [replay];
    return { added, replaying: open.length > 0 };
  });
}

/** Counts all deliveries that the replay has still to reach. Took 0.4 s for a million. */
async function countToCome(database: DataSource, webhookId: string, replay: ReplayRow): Promise<void> {
  const { from, values } = matching(webhookId, replay);
  const [row] = await database.query<{ number: string }[]>(`SELECT COUNT(*) AS number ${from}`, values);
  await database.query(SET_TO_COME, [row?.number ?? 0, replay.id, replay.position]);
}

function findEnded(sql: Sql, webhookId: string, replay: ReplayRow): Promise<{ transaction_id: string }[]> {
  const { from, id, values } = matching(webhookId, replay);
  return sql.query<{ transaction_id: string }[]>(
    `SELECT ${id} ${from} ORDER BY ${id} LIMIT ${BATCH_SIZE}`,
    values,
  );
}

/** SQL for the deliveries that the replay has still to reach. */
function matching(webhookId: string, replay: ReplayRow): { from: string; id: string; values: unknown[] } {
  const statuses = replay.statuses.split(',');
  const accounts = replay.account_ids?.split(',') ?? null;
  const onlyFailed = statuses.length === 1 && statuses[0] === 'failed';
  const [from, id] = onlyFailed
    ? [FAILED_IN_RANGE, 'r.transaction_id']
    : [ENDED_IN_RANGE, 'd.transaction_id'];
  return {
    from: `${from} ${accounts === null ? '' : OF_ACCOUNTS(id)}`,
    id,
    values: [
      webhookId,
      replay.position,
      replay.until_id,
      ...(onlyFailed ? [] : [statuses]),
      ...(accounts === null ? [] : [accounts]),
    ],
  };
}
