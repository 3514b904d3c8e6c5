import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { endRun } from './filters.ts';
import { wakeChangedWebhook } from './wake.ts';

/** Cancels replays. */

/** How many deliveries are withdrawn in one transaction. */
const BATCH_SIZE = 1_000;

const LOCK_REPLAY = `
  SELECT cancelled_at, finished_at FROM replays WHERE id = ? AND webhook_id = ? FOR UPDATE`;

/** The deliveries of a replay that are pending. Indexes: retries_due, and the primary key. */
const READ_PENDING_DELIVERIES = `
  SELECT r.transaction_id, d.outcome FROM retries r FORCE INDEX (retries_due)
    STRAIGHT_JOIN deliveries d ON d.webhook_id = r.webhook_id AND d.transaction_id = r.transaction_id
  WHERE r.webhook_id = ? AND r.due_at IS NOT NULL AND r.replay_id = ? LIMIT ?`;

const MARK_CANCELLED = 'UPDATE replays SET cancelled_at = NOW(6), finished_at = NULL WHERE id = ?';

const END_DELIVERIES = 'UPDATE deliveries SET status = ? WHERE webhook_id = ? AND transaction_id IN (?)';

const DELETE_RETRIES = 'DELETE FROM retries WHERE webhook_id = ? AND transaction_id IN (?)';

const MAKE_DEAD_LETTERS = `
  UPDATE retries SET due_at = NULL, replay_id = NULL WHERE webhook_id = ? AND transaction_id IN (?)`;

const COUNT_ENDED = `
  UPDATE webhook_cursors SET delivered_count = delivered_count + ?, failed_count = failed_count + ?
  WHERE webhook_id = ?`;

const ADD_WITHDRAWN = `
  UPDATE replays SET withdrawn = withdrawn + ?, finished_at = IF(?, NOW(6), NULL) WHERE id = ?`;

/**
 * Cancels a replay. Nothing more of it becomes pending, and its pending deliveries end as their last attempt ended: delivered or failed.
 * What was sent stays. A delivery that was pending before the replay is not part of it, and is sent. POSTs in flight may still arrive.
 * A cancelled replay stays as it is.
 * @throws {Problem} 404; 409 for a replay that is done.
 */
export async function cancelReplay(
  runtime: Pick<Runtime, 'database' | 'queues' | 'redis' | 'prefix' | 'log'>,
  caller: Caller,
  { webhookId, replayId }: { webhookId: string; replayId: string },
): Promise<void> {
  const { database } = runtime;
  let isWhole = await inTransaction(database, async (sql) => {
    const replay = await lockReplay(sql, webhookId, replayId);
    if (replay === undefined) throw notFound('replay');
    if (replay.cancelled_at === null) {
      const [pending] = await sql.query<unknown[]>(READ_PENDING_DELIVERIES, [webhookId, replayId, 1]);
      if (replay.finished_at !== null && pending === undefined)
        throw new Problem('replay-done', 'The replay is done. Nothing of it is pending any more.');
      await sql.query(MARK_CANCELLED, [replayId]);
      const subject = `webhook ${webhookId}`;
      await recordChange(sql, caller, { action: 'cancel replay', subject, detail: `replay ${replayId}` });
    } else if (replay.finished_at !== null) return true;
    return withdraw(sql, webhookId, replayId);
  });
  await wakeChangedWebhook(runtime, webhookId);
  while (!isWhole) {
    isWhole = await inTransaction(database, (sql) => withdrawSome(sql, webhookId, replayId));
    await wakeChangedWebhook(runtime, webhookId);
  }
}

/**
 * Ends some pending deliveries of a cancelled replay.
 * @param sql a transaction.
 * @returns whether none is left.
 */
export async function withdrawSome(sql: Sql, webhookId: string, replayId: string): Promise<boolean> {
  const replay = await lockReplay(sql, webhookId, replayId);
  return replay === undefined || replay.finished_at !== null || withdraw(sql, webhookId, replayId);
}

/** Locks in the order of all transactions: the webhook, its cursor, its replay. */
async function lockReplay(
  sql: Sql,
  webhookId: string,
  replayId: string,
): Promise<{ cancelled_at: Date | null; finished_at: Date | null } | undefined> {
  await endRun(sql, webhookId);
  const [replay] = await sql.query<{ cancelled_at: Date | null; finished_at: Date | null }[]>(LOCK_REPLAY, [
    replayId,
    webhookId,
  ]);
  return replay;
}

/** Every transaction that withdraws changes the revision, so that a run that is sending one of these deliveries counts it once. */
async function withdraw(sql: Sql, webhookId: string, replayId: string): Promise<boolean> {
  const pending = await sql.query<{ transaction_id: string; outcome: string }[]>(READ_PENDING_DELIVERIES, [
    webhookId,
    replayId,
    BATCH_SIZE,
  ]);
  const idsOf = (isDelivered: boolean) =>
    pending.filter((it) => (it.outcome === 'delivered') === isDelivered).map((it) => it.transaction_id);
  const [delivered, failed] = [idsOf(true), idsOf(false)];
  if (delivered.length > 0) {
    await sql.query(END_DELIVERIES, ['delivered', webhookId, delivered]);
    await sql.query(DELETE_RETRIES, [webhookId, delivered]);
  }
  if (failed.length > 0) {
    await sql.query(END_DELIVERIES, ['failed', webhookId, failed]);
    await sql.query(MAKE_DEAD_LETTERS, [webhookId, failed]);
  }
  if (pending.length > 0) await sql.query(COUNT_ENDED, [delivered.length, failed.length, webhookId]);
  const isWhole = pending.length < BATCH_SIZE;
  await sql.query(ADD_WITHDRAWN, [pending.length, isWhole ? 1 : 0, replayId]);
  return isWhole;
}
