import { wakeWebhooks } from '../../queues/wake.ts';
import type { Runtime } from '../../runtime.ts';

/** Has a webhook drained now. While Redis is away that is only logged: the reconciler finds what is due within 10 s. */
export async function wakeWebhook(
  { queues, log }: Pick<Runtime, 'queues' | 'log'>,
  webhookId: string,
): Promise<void> {
  await wakeWebhooks(queues, [webhookId]).catch((err: unknown) =>
    log.warn({ err, webhookId }, 'webhook not woken yet'),
  );
}
