import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../database/transaction.ts';

/** Rows per statement: a webhook may be owed a million, and a statement that long would hold its locks for as long. */
const BATCH = 5_000;

/** Index: deliveries_due. */
const CANCEL = `
  UPDATE deliveries SET status = 'cancelled', due_at = NULL, finished_at = NOW(6)
  WHERE webhook_id = ? AND status = 'pending' LIMIT ${BATCH}`;

const DELETED_AND_OWED = `
  SELECT w.id FROM webhooks w WHERE w.status = 'deleted'
    AND EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending')`;

/** Cancels what a webhook is still owed. Its log stays. @returns how many deliveries that were. */
export async function cancelPending(database: DataSource, webhookId: string): Promise<number> {
  for (let cancelled = 0; ; ) {
    // Results of what is in flight lock the same rows in another order: a deadlock's victim begins again.
    const { affectedRows } = await inTransaction(database, (sql) =>
      sql.query<WriteResult>(CANCEL, [webhookId]),
    );
    cancelled += affectedRows;
    if (affectedRows < BATCH) return cancelled;
  }
}

/**
 * Cancels what deleted webhooks are owed all the same: the deletion was cut short, or an import that had seen the webhook
 * was committed after it.
 */
export async function cancelLeftovers(database: DataSource): Promise<number> {
  let cancelled = 0;
  for (const { id } of await database.query<{ id: string }[]>(DELETED_AND_OWED))
    cancelled += await cancelPending(database, id);
  return cancelled;
}
