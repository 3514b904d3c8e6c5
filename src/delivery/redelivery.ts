import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../database/webhook-enums.ts';
import { Problem } from '../platform/problem.ts';
import { type DeliveryKey, formatDeliveryId } from './delivery-id.ts';
import { type FoundDelivery, findDelivery } from './find-delivery.ts';
import { markDue } from './reconcile.ts';
import { wakeChangedWebhook } from './wake.ts';

/** Makes deliveries that have ended pending again, for a redelivery or a replay. */

const LOCK_CURSOR = 'SELECT webhook_id FROM webhook_cursors WHERE webhook_id = ? FOR UPDATE';

/** Leaves out accounts that are being deleted. Index of this and the following statements: the primary keys. */
const READ_ENDED = `
  SELECT d.transaction_id, d.status FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id
  LEFT JOIN transactions t ON t.id = d.transaction_id AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} LEFT JOIN accounts a ON a.id = t.account_id
  WHERE w.id = ? AND d.transaction_id IN (?) AND d.status IN ('delivered', 'failed')
    AND (a.status IS NULL OR a.status <> 'deleting')`;

/** A failed attempt already has a row, but the row may lack the body of the answer. */
const KEEP_LAST_ATTEMPT = `
  INSERT INTO attempts
    (webhook_id, transaction_id, number, customer_id, outcome, status_code, started_at, duration_ms, error, response)
  SELECT d.webhook_id, d.transaction_id, d.attempts, d.customer_id, d.outcome, d.status_code, d.started_at, d.duration_ms,
    d.error, d.response
  FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id IN (?)
  ON DUPLICATE KEY UPDATE response = VALUES(response)`;

const MAKE_PENDING = `UPDATE deliveries SET status = 'pending' WHERE webhook_id = ? AND transaction_id IN (?)`;

const MAKE_DUE = `
  INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures, replay_id)
  SELECT d.webhook_id, d.transaction_id, d.customer_id, NOW(6), d.attempts, 0, ?
  FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id IN (?)
  ON DUPLICATE KEY UPDATE due_at = VALUES(due_at), attempts = VALUES(attempts), failures = 0,
    replay_id = VALUES(replay_id)`;

const COUNT_PENDING = `
  UPDATE webhook_cursors SET delivered_count = delivered_count - ?, failed_count = failed_count - ?
  WHERE webhook_id = ?`;

/**
 * Makes delivered and failed deliveries pending again. They are due now and start the retry schedule again. Other deliveries stay
 * as they are. The last attempt is kept in `attempts`.
 * @param sql a transaction that has locked the webhook's row in webhook_cursors.
 * @param replayId the replay that requests them; null: a redelivery.
 * @returns how many deliveries became pending.
 */
export async function makePendingAgain(
  sql: Sql,
  webhookId: string,
  transactionIds: readonly string[],
  replayId: string | null,
): Promise<number> {
  if (transactionIds.length === 0) return 0;
  const ended = await sql.query<{ transaction_id: string; status: string }[]>(READ_ENDED, [
    webhookId,
    transactionIds,
  ]);
  if (ended.length === 0) return 0;
  const ids = ended.map(({ transaction_id }) => transaction_id);
  const delivered = ended.filter(({ status }) => status === 'delivered').length;
  await sql.query(KEEP_LAST_ATTEMPT, [webhookId, ids]);
  await sql.query(MAKE_PENDING, [webhookId, ids]);
  await sql.query(MAKE_DUE, [replayId, webhookId, ids]);
  await sql.query(COUNT_PENDING, [delivered, ended.length - delivered, webhookId]);
  return ended.length;
}

/** Locks the webhook's cursor. Until the transaction ends, no delivery run can record results of the webhook. */
export async function lockCursor(sql: Sql, webhookId: string): Promise<void> {
  await sql.query(LOCK_CURSOR, [webhookId]);
}

/** Takes a shared lock: the status cannot change until the transaction ends, but requests for other deliveries can read it too. */
const READ_STATUS = 'SELECT status FROM webhooks WHERE id = ? LOCK IN SHARE MODE';

/** The delivery is sent even if the replay that it belonged to is cancelled. */
const BRING_FORWARD = `
  UPDATE retries SET due_at = LEAST(due_at, NOW(6)), replay_id = NULL
  WHERE webhook_id = ? AND transaction_id = ? AND due_at IS NOT NULL`;

/** Says whether a webhook can be sent anything. A paused webhook is accepted, because it sends when it is active again. */
type Sendable = 'accepted' | 'disabled' | 'deleted';

/**
 * Locks a webhook's status until the transaction ends.
 * @param sql a transaction.
 * @returns 'accepted', or why deliveries of the webhook cannot be requested again.
 */
export async function lockSendable(sql: Sql, webhookId: string): Promise<Sendable> {
  const [webhook] = await sql.query<{ status: string }[]>(READ_STATUS, [webhookId]);
  if (webhook === undefined || webhook.status === 'deleted') return 'deleted';
  return webhook.status === 'disabled' ? 'disabled' : 'accepted';
}

/** Indexes: the primary keys. */
const IS_DELETING = `
  SELECT 1 FROM webhooks w JOIN transactions t JOIN accounts a ON a.id = t.account_id
  WHERE w.id = ? AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} AND t.id = ? AND a.status = 'deleting'`;

/**
 * Requests that a delivery is sent again, and wakes its webhook. A delivered or failed delivery becomes pending. A delivery that waits
 * for its next attempt becomes due now. A delivery that was never attempted is due already.
 * @throws {Problem} 404; 409 for a webhook that sends nothing, and for a movement of an account that is being deleted.
 */
export async function redeliver(
  runtime: Pick<Runtime, 'database' | 'queues' | 'redis' | 'prefix' | 'log'>,
  caller: Caller,
  key: DeliveryKey,
): Promise<FoundDelivery> {
  const { database } = runtime;
  const { webhookId, transactionId } = key;
  // Checked before locking, because a caller that may not see the delivery must not wait for its locks.
  await findDelivery(database, caller, key);
  await inTransaction(database, async (sql) => {
    const sendable = await lockSendable(sql, webhookId);
    if (sendable !== 'accepted') throw notSendable(sendable);
    const deleting = await sql.query<unknown[]>(IS_DELETING, [webhookId, transactionId]);
    if (deleting.length > 0) throw notSendable('account deleting');
    await lockCursor(sql, webhookId);
    const changed = await makePendingAgain(sql, webhookId, [transactionId], null);
    if (changed === 0) await sql.query(BRING_FORWARD, [webhookId, transactionId]);
    await markDue(sql, webhookId);
    await recordChange(sql, caller, { action: 'redeliver', subject: `delivery ${formatDeliveryId(key)}` });
  });
  const delivery = await findDelivery(database, caller, key);
  await wakeChangedWebhook(runtime, webhookId);
  return delivery;
}

/** The 409 for a webhook whose deliveries cannot be requested again. */
export function notSendable(status: Exclude<Sendable, 'accepted'> | 'account deleting'): Problem {
  switch (status) {
    case 'disabled':
      return new Problem(
        'webhook-disabled',
        'The webhook is disabled. Set its status to "active" with PATCH /v1/webhooks/{id} first.',
      );
    case 'account deleting':
      return new Problem(
        'account-deleting',
        'The account of this movement is being deleted. Nothing of it is sent any more.',
      );
    case 'deleted':
      return new Problem(
        'webhook-deleted',
        'The webhook was deleted. Create a new one, and read past movements with GET /v1/transactions.',
      );
  }
}
