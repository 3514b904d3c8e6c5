import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';
import type { DeliveryKey } from '../delivering/delivery-id.ts';
import { lockCursor, makePendingAgain } from '../delivering/pending-again.ts';

/** A shared lock: requests for other deliveries can read the status too, and it does not change until the transaction ends. */
const READ_STATUS = 'SELECT status FROM webhooks WHERE id = ? LOCK IN SHARE MODE';

const BRING_FORWARD = `
  UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND transaction_id = ? AND due_at > NOW(6)`;

/** Whether anything can be sent for a webhook with this status. A paused webhook sends when it is active again. */
export type Sendable = 'accepted' | 'disabled' | 'deleted';

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
  SELECT 1 FROM transactions t JOIN accounts a ON a.id = t.account_id WHERE t.id = ? AND a.status = 'deleting'`;

/**
 * Requests that a delivery is sent again. A delivered or failed one becomes pending, one that waits for its next attempt is due
 * now, and one that was never attempted is due already. The caller wakes the webhook afterwards.
 * @param record runs in the same transaction, if the delivery can be sent again.
 * @returns 'account deleting' for a movement of an account that is being deleted: nothing of it is sent any more.
 */
export function redeliver(
  database: DataSource,
  { webhookId, transactionId }: DeliveryKey,
  record: (sql: Sql) => Promise<void>,
): Promise<Sendable | 'account deleting'> {
  return inTransaction(database, async (sql) => {
    const sendable = await lockSendable(sql, webhookId);
    if (sendable !== 'accepted') return sendable;
    const deleting = await sql.query<unknown[]>(IS_DELETING, [transactionId]);
    if (deleting.length > 0) return 'account deleting';
    await lockCursor(sql, webhookId);
    const again = await makePendingAgain(sql, webhookId, [transactionId]);
    if (again === 0) await sql.query(BRING_FORWARD, [webhookId, transactionId]);
    await record(sql);
    return sendable;
  });
}
