import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../../database/transaction.ts';
import { lockImports, setFilter } from '../filters.ts';
import { readSubject, recordEvent } from '../operational-event.ts';
import { MAX_CRASHES } from '../webhook-state.ts';

/** Disables or pauses a webhook whose delivery runs require it. */

const READ_OWNER = 'SELECT customer_id, is_template FROM webhooks WHERE id = ?';

/** Does nothing if the owner has changed the webhook since the run read it. */
const DISABLE_WEBHOOK = `
  UPDATE webhooks SET status = 'disabled', status_reason = ?, revision = revision + 1
  WHERE id = ? AND status = 'active' AND revision = ?`;

/**
 * Disables a webhook, after a 410 or after five days of failures. From now on, the webhook matches nothing. Its pending deliveries are kept but
 * not sent. The webhooks of a template that is disabled still match, so that nothing is missing when the template is active again.
 */
export async function disableWebhook(
  database: DataSource,
  { id, revision }: { id: string; revision: number },
  reason: string,
): Promise<void> {
  await inTransaction(database, async (sql) => {
    const [webhook] = await sql.query<{ customer_id: string; is_template: number }[]>(READ_OWNER, [id]);
    if (webhook === undefined) return;
    const { customer_id: customerId, is_template } = webhook;
    await lockImports(sql, customerId);
    const { affectedRows } = await sql.query<WriteResult>(DISABLE_WEBHOOK, [reason, id, revision]);
    if (affectedRows !== 1) return;
    if (is_template === 0) await setFilter(sql, { id, customerId }, null);
    await recordEvent(sql, {
      type: 'webhook.disabled',
      customerId,
      webhookId: id,
      data: { customer_id: Number(customerId), webhook: await readSubject(sql, id), reason },
    });
  });
}

export type Quarantine = 'paused' | 'not active' | 'many';

/**
 * If this many webhooks have half of MAX_CRASHES or more, something else ends the processes. Pausing the webhooks would stop healthy ones.
 * The query reads each cursor once.
 */
const SUSPECTS = 5;
const FIND_SUSPECTS = `
  SELECT webhook_id FROM webhook_cursors WHERE crash_count >= ${MAX_CRASHES / 2} LIMIT ${SUSPECTS}`;

const PAUSE_WEBHOOK = `
  UPDATE webhooks SET status = 'paused', revision = revision + 1, status_reason = ? WHERE id = ? AND status = 'active'`;

/**
 * Pauses a webhook whose delivery runs keep ending their process, or whose results MySQL refuses. The stored reason also says that its deliveries are kept. The webhook keeps matching new movements, and its owner or
 * an operator can make it active again.
 * @returns `not active`: the webhook is not active any more. `many`: many other webhooks crash too, so none is paused.
 */
export function quarantineWebhook(
  database: DataSource,
  { id, customerId, templateId }: { id: string; customerId: string; templateId: string | null },
  cause: string,
): Promise<Quarantine> {
  return inTransaction(database, async (sql) => {
    const suspects = await sql.query<unknown[]>(FIND_SUSPECTS);
    if (suspects.length === SUSPECTS) return 'many';
    const reason = `${cause}. Its deliveries are kept.`;
    const { affectedRows } = await sql.query<WriteResult>(PAUSE_WEBHOOK, [reason, id]);
    if (affectedRows !== 1) return 'not active';
    await recordEvent(sql, {
      type: 'webhook.quarantined',
      // Customers do not see the webhooks of templates.
      customerId: templateId === null ? customerId : null,
      webhookId: id,
      data: { customer_id: Number(customerId), webhook: await readSubject(sql, id), reason },
    });
    return 'paused';
  });
}
