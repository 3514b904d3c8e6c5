import { asOperator, tokenOf } from '../operators/support.ts';
import type { TestService } from './service.ts';

/** Makes a template, with a webhook for each customer that it matches. */
export async function createTemplate(
  service: TestService,
  fields: object,
): Promise<{
  id: string;
  secret: string;
  /** The operator's customer. */
  customerId: string;
  /** Finds the webhook of a customer. */
  webhookOf: (customerId: string | number) => Promise<string>;
  /** Sets the counters of a webhook. */
  setCounts: (
    webhookId: string,
    counts: [matched: number, delivered: number, failed: number],
  ) => Promise<void>;
}> {
  const { database } = service.runtime;
  const token = await tokenOf(service, 'operator');
  const { status, body } = await asOperator(service, token, 'POST', '/v1/webhook-templates', {
    body: { title: 'All customers', event: 'NEW_TRANSACTION', customers: 'all', ...fields },
  });
  if (status !== 200) throw new Error(`template refused: ${JSON.stringify(body)}`);
  const { id, secret } = body.webhook_template;
  const [row] = await database.query<{ customer_id: string }[]>(
    'SELECT customer_id FROM webhooks WHERE id = ?',
    [id],
  );
  return {
    id: String(id),
    secret,
    customerId: row?.customer_id ?? '',
    async webhookOf(customerId) {
      const [webhook] = await database.query<{ id: string }[]>(
        'SELECT id FROM webhooks WHERE template_id = ? AND customer_id = ?',
        [id, customerId],
      );
      return webhook?.id ?? '';
    },
    async setCounts(webhookId, counts) {
      await database.query(
        `UPDATE webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id
         SET b.matched_count = ?, c.delivered_count = ?, c.failed_count = ? WHERE c.webhook_id = ?`,
        [...counts, webhookId],
      );
    },
  };
}
