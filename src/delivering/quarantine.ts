import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../database/transaction.ts';
import { recordEvent } from './events/record-event.ts';
import { readSubject } from './events/webhook-subject.ts';

/** Pauses a webhook whose delivery runs keep ending their process. */

/** Runs in a row that took the lease and neither recorded anything nor gave it back. Most likely the webhook ends its process. */
export const MAX_CRASHES = 10;

const REASON = `Its delivery runs have ended without a result ${MAX_CRASHES} times in a row. Its deliveries are kept.`;

const PAUSE = `
  UPDATE webhooks SET status = 'paused', revision = revision + 1, status_reason = ? WHERE id = ? AND status = 'active'`;

/**
 * Pauses a webhook and says why. It keeps matching new movements, and its owner or an operator can make it active again.
 * @returns false when it is not active any more.
 */
export function quarantineWebhook(
  database: DataSource,
  { id, customerId }: { id: string; customerId: string },
): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    const { affectedRows } = await sql.query<WriteResult>(PAUSE, [REASON, id]);
    if (affectedRows !== 1) return false;
    await recordEvent(sql, {
      type: 'webhook.quarantined',
      customerId,
      webhookId: id,
      data: { customer_id: Number(customerId), webhook: await readSubject(sql, id), reason: REASON },
    });
    return true;
  });
}
