import type { Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../database/webhook-enums.ts';
import { concerns } from '../webhook-record/filter.ts';
import { addResults } from './engine/record-results.ts';
import { failInFeeds } from './feed/position.ts';
import { endRun, matchedAmong, type RemovedMovement } from './filters.ts';
import { failedWithoutMovement } from './run/attempt.ts';
import type { Delivery } from './run/types.ts';

/** Ends the pending deliveries of movements that are withdrawn, and finds the webhooks that are sent the withdrawals. */

/** Index: webhooks_customer. */
const READ_LIVE_WEBHOOKS = `
  SELECT w.id, w.delivery, w.status, w.withdrawals, k.sent_through FROM webhooks w JOIN webhook_cursors k ON k.webhook_id = w.id
  WHERE w.customer_id = ? AND w.status <> 'deleted' AND w.is_template = 0 AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} ORDER BY w.id`;

export interface LiveWebhook {
  id: string;
  delivery: 'push' | 'pull';
  status: 'active' | 'paused' | 'disabled' | 'ended';
  withdrawals: number;
  sent_through: string;
}

/** Index: the primary key. */
const READ_RETRIES = `
  SELECT transaction_id, attempts, failures FROM retries FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id IN (?) AND due_at IS NOT NULL`;

/** Indexes: the primary keys. */
const READ_PROGRESS = `
  SELECT k.sent_through, b.matched_through FROM webhook_cursors k JOIN webhook_backlogs b ON b.webhook_id = k.webhook_id
  WHERE k.webhook_id = ?`;

/** Index: the primary key. */
const READ_RESULTS = 'SELECT transaction_id FROM deliveries WHERE webhook_id = ? AND transaction_id IN (?)';

/** Deliveries with results beyond the cursor. */
const COUNT_FAILED = `
  UPDATE webhook_cursors SET failed_count = failed_count + ?, highest_recorded_id = GREATEST(highest_recorded_id, ?)
  WHERE webhook_id = ?`;

/** The webhooks of a customer that are sent movements, or hand them out. */
export async function findLiveWebhooks(sql: Sql, customerId: string): Promise<LiveWebhook[]> {
  return sql.query<LiveWebhook[]>(READ_LIVE_WEBHOOKS, [customerId]);
}

/**
 * Ends what is pending of movements for these webhooks as failed. Runs that have them in memory end.
 * @param sql the transaction that withdraws the movements. It has locked the customer's imports.
 * @param movements in the order of their ids; at least one.
 * @returns the webhooks to wake with `reread` after the commit.
 */
export async function endWithdrawn(
  sql: Sql,
  customerId: string,
  webhooks: readonly LiveWebhook[],
  movements: readonly RemovedMovement[],
): Promise<string[]> {
  const feeds = webhooks.filter(({ delivery }) => delivery === 'pull').map(({ id }) => id);
  await failInFeeds(sql, feeds, movements);
  const ids = movements.map(({ id }) => id);
  const last = BigInt(ids.at(-1) ?? 0);
  const changed: string[] = [];
  for (const { id: webhookId, delivery, sent_through } of webhooks) {
    if (delivery === 'pull') continue;
    const isBehind = BigInt(sent_through) < last;
    if (!isBehind && (await sql.query<unknown[]>(READ_RETRIES, [webhookId, ids])).length === 0) continue;
    await endRun(sql, webhookId);
    changed.push(webhookId);
    const pending = await readPending(sql, webhookId, movements);
    if (pending.length === 0) continue;
    const now = Date.now();
    const results = pending.map((delivery) => failedWithoutMovement(delivery, now));
    await addResults(
      sql,
      results.map((result) => ({ webhookId, customerId, result })),
    );
    await sql.query(COUNT_FAILED, [
      results.length,
      Math.max(...results.map((it) => it.subjectId)),
      webhookId,
    ]);
  }
  return changed;
}

/** Reads what is pending of movements: retries, and movements that were never attempted. The webhook's cursor is locked. */
async function readPending(
  sql: Sql,
  webhookId: string,
  movements: readonly RemovedMovement[],
): Promise<Delivery[]> {
  const ids = movements.map(({ id }) => id);
  const retries = await sql.query<{ transaction_id: string; attempts: number; failures: number }[]>(
    READ_RETRIES,
    [webhookId, ids],
  );
  const [progress] = await sql.query<{ sent_through: string; matched_through: string }[]>(READ_PROGRESS, [
    webhookId,
  ]);
  const logged = movements.filter(
    ({ id }) =>
      BigInt(id) > BigInt(progress?.sent_through ?? 0) &&
      BigInt(id) <= BigInt(progress?.matched_through ?? 0),
  );
  const results =
    logged.length === 0
      ? []
      : await sql.query<{ transaction_id: string }[]>(READ_RESULTS, [webhookId, logged.map(({ id }) => id)]);
  const withResult = new Set(results.map(({ transaction_id }) => transaction_id));
  const unsent = await matchedAmong(
    sql,
    webhookId,
    logged.filter(({ id }) => !withResult.has(id)),
  );
  const gone = { content: null, isWithdrawn: true } as const;
  return [
    ...retries.map(({ transaction_id, attempts, failures }): Delivery => {
      return { ...gone, subjectId: Number(transaction_id), source: 'retries', attempts, failures };
    }),
    ...unsent.map(({ id }): Delivery => {
      return { ...gone, subjectId: Number(id), source: 'log', attempts: 0, failures: 0 };
    }),
  ];
}

/** A webhook that hears of withdrawals, and of how many. */
export interface Hearing {
  webhookId: string;
  isPull: boolean;
  withdrawals: number;
}

/**
 * Finds which webhooks hear that movements are withdrawn: those that list withdrawals now, and matched the movements when they were stored. A
 * paused webhook is sent it later.
 * @param movements in the order of their ids.
 */
export async function findHearing(
  sql: Sql,
  webhooks: readonly LiveWebhook[],
  movements: readonly RemovedMovement[],
): Promise<Hearing[]> {
  const hearing: Hearing[] = [];
  for (const { id: webhookId, delivery, status, withdrawals } of webhooks) {
    if (withdrawals === 0 || status === 'disabled' || status === 'ended') continue;
    const heard = await matchedAmong(sql, webhookId, movements, concerns);
    if (heard.length > 0) hearing.push({ webhookId, isPull: delivery === 'pull', withdrawals: heard.length });
  }
  return hearing;
}
