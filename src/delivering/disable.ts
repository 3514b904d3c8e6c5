import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../database/transaction.ts';
import { recordEvent } from './events/record-event.ts';
import { readSubject } from './events/webhook-subject.ts';
import { lockImports, setFilter } from './filters.ts';

/** Disables a webhook when a run decides so: after a 410, or after five days of failures. */

/** Only if the webhook is still as the run read it: what its owner has changed since then is a new beginning. */
const DISABLE = `
  UPDATE webhooks SET status = 'disabled', status_reason = ?, revision = revision + 1
  WHERE id = ? AND status = 'active' AND revision = ?`;

/** Disables a webhook. From now on it matches nothing, and its pending deliveries are kept but not sent. */
export async function disableWebhook(
  database: DataSource,
  webhook: { id: string; customerId: string; revision: number },
  reason: string,
): Promise<void> {
  const { id, customerId, revision } = webhook;
  await inTransaction(database, async (sql) => {
    await lockImports(sql, customerId);
    const { affectedRows } = await sql.query<WriteResult>(DISABLE, [reason, id, revision]);
    if (affectedRows !== 1) return;
    await setFilter(sql, webhook, null);
    await recordEvent(sql, {
      type: 'webhook.disabled',
      customerId,
      webhookId: id,
      data: { customer_id: Number(customerId), webhook: await readSubject(sql, id), reason },
    });
  });
}
