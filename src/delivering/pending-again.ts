import type { Sql } from '../database/transaction.ts';

/** Makes deliveries that have ended pending again, for a redelivery or a replay. */

const LOCK_CURSOR = 'SELECT webhook_id FROM webhook_cursors WHERE webhook_id = ? FOR UPDATE';

/** Not those of an account that is being deleted. Index of this statement and the following ones: the primary keys. */
const READ_ENDED = `
  SELECT d.transaction_id, d.status FROM deliveries d
  LEFT JOIN transactions t ON t.id = d.transaction_id LEFT JOIN accounts a ON a.id = t.account_id
  WHERE d.webhook_id = ? AND d.transaction_id IN (?) AND d.status IN ('delivered', 'failed')
    AND (a.status IS NULL OR a.status <> 'deleting')`;

/** Changes nothing for a failed attempt, which already has its row. */
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

/**
 * Makes delivered and failed deliveries pending again: due now, with the whole schedule before them. Deliveries in another state
 * are left as they are. The last attempt is kept in `attempts`.
 * @param sql a transaction that has locked the webhook's row in webhook_cursors.
 * @returns how many deliveries became pending.
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

/** Locks the webhook's cursor: until the transaction ends, no delivery run records results of the webhook. */
export async function lockCursor(sql: Sql, webhookId: string): Promise<void> {
  await sql.query(LOCK_CURSOR, [webhookId]);
}
