import { wakeWebhooks } from '../delivering/wake.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Has a webhook looked at that has changed, or that has deliveries due again. While Redis is away that is only logged: the
 * reconciler finds what is due within 10 s.
 */
export async function wakeWebhook(runtime: Runtime, webhookId: string): Promise<void> {
  await wakeWebhooks(runtime, [webhookId], { reread: true }).catch((err: unknown) =>
    runtime.log.warn({ err, webhookId }, 'webhook not woken yet'),
  );
}
