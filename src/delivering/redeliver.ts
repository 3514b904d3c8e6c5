import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';
import type { DeliveryKey } from './delivery-id.ts';

/** Shared with who reads the status for another delivery; it does not change until the transaction ends. */
const READ_STATUS = 'SELECT status FROM webhooks WHERE id = ? LOCK IN SHARE MODE';

const LOCK_CURSOR = 'SELECT webhook_id FROM webhook_cursors WHERE webhook_id = ? FOR UPDATE';

/** Index of this and the following: the primary keys. */
const READ_ENDED = `
  SELECT transaction_id, status FROM deliveries
  WHERE webhook_id = ? AND transaction_id IN (?) AND status IN ('delivered', 'failed')`;

/** A failed attempt is there already. */
const KEEP_LAST_ATTEMPT = `
  INSERT INTO attempts
    (webhook_id, transaction_id, number, customer_id, outcome, status_code, started_at, duration_ms, error, response)
  SELECT d.webhook_id, d.transaction_id, d.attempts, d.customer_id, d.outcome, d.status_code, d.started_at, d.duration_ms,
    d.error, d.response
  FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id IN (?)
  ON DUPLICATE KEY UPDATE number = VALUES(number)`;

const MAKE_PENDING = `UPDATE deliveries SET status = 'pending' WHERE webhook_id = ? AND transaction_id IN (?)`;

const MAKE_DUE = `
  INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
  SELECT d.webhook_id, d.transaction_id, d.customer_id, NOW(6), d.attempts, 0
  FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id IN (?)
  ON DUPLICATE KEY UPDATE due_at = VALUES(due_at), attempts = VALUES(attempts), failures = 0`;

const COUNT_PENDING = `
  UPDATE webhook_cursors SET delivered_count = delivered_count - ?, failed_count = failed_count - ?
  WHERE webhook_id = ?`;

const BRING_FORWARD = `
  UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND transaction_id = ? AND due_at > NOW(6)`;

/** Whether anything can be sent for a webhook of that status; a paused one sends when it is active again. */
export type Sendable = 'accepted' | 'disabled' | 'deleted';

/**
 * @param sql a transaction: until it ends the status stays as it is.
 * @returns why deliveries of a webhook cannot be asked for again, or 'accepted'.
 */
export async function lockSendable(sql: Sql, webhookId: string): Promise<Sendable> {
  const [webhook] = await sql.query<{ status: string }[]>(READ_STATUS, [webhookId]);
  if (webhook === undefined || webhook.status === 'deleted') return 'deleted';
  return webhook.status === 'disabled' ? 'disabled' : 'accepted';
}

/**
 * Makes deliveries that are delivered or failed pending again, due now and with the whole schedule before them. Others of
 * these movements are left as they are. What their last attempt came to is kept in `attempts`.
 * @param sql a transaction that has locked the webhook's row in webhook_cursors.
 * @returns how many that were.
 */
export async function makePendingAgain(
  sql: Sql,
  webhookId: string,
  transactionIds: readonly string[],
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
  await sql.query(MAKE_DUE, [webhookId, ids]);
  await sql.query(COUNT_PENDING, [delivered, ended.length - delivered, webhookId]);
  return ended.length;
}

/** Until the transaction ends, no delivery run records results of the webhook. */
export async function lockCursor(sql: Sql, webhookId: string): Promise<void> {
  await sql.query(LOCK_CURSOR, [webhookId]);
}

/**
 * Asks for one delivery to be sent again: one that is delivered or failed becomes pending, one that waits for its next attempt
 * is due now, and one that was never attempted is due already. The caller wakes the webhook then.
 */
export function redeliver(
  database: DataSource,
  { webhookId, transactionId }: DeliveryKey,
): Promise<Sendable> {
  return inTransaction(database, async (sql) => {
    const sendable = await lockSendable(sql, webhookId);
    if (sendable !== 'accepted') return sendable;
    await lockCursor(sql, webhookId);
    const again = await makePendingAgain(sql, webhookId, [transactionId]);
    if (again === 0) await sql.query(BRING_FORWARD, [webhookId, transactionId]);
    return sendable;
  });
}
