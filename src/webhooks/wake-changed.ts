import { wakeWebhooks } from '../delivering/wake.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Wakes a webhook that has changed, or that has deliveries due again. If Redis or MySQL is unreachable, that is only logged: the
 * reconciler finds what is due within 10 s.
 */
export async function wakeChangedWebhook(runtime: Runtime, webhookId: string): Promise<void> {
  await wakeWebhooks(runtime, [webhookId], { reread: true }).catch((err: unknown) =>
    runtime.log.warn({ err, webhookId }, 'webhook not woken yet'),
  );
}
