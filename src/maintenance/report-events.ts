import { dispatchEvents } from '../delivering/events/dispatch-events.ts';
import { reportFailedDeliveries } from '../delivering/events/failed-deliveries.ts';
import { reportFailingWebhooks } from '../delivering/events/failing-webhooks.ts';
import { reportStalledDeliveries } from '../delivering/events/stalled-deliveries.ts';
import { wakeWebhooks } from '../delivering/wake.ts';
import { reportStuckImports } from '../importing/stuck-imports.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Records the operational events that are found by looking, and makes the deliveries of all events. Others are recorded in the
 * transaction of what they report.
 * @returns the number of webhooks that have deliveries of events now.
 */
export async function reportEvents(runtime: Runtime): Promise<number> {
  const { database, log } = runtime;
  await reportFailingWebhooks(database);
  await reportFailedDeliveries(database);
  await reportStalledDeliveries(database);
  await reportStuckImports(database);
  const webhookIds = await dispatchEvents(database);
  // What is not woken here is found by the reconciler.
  await wakeWebhooks(runtime, webhookIds, { reread: true }).catch((err: unknown) =>
    log.warn({ err }, 'webhooks with operational events not woken yet'),
  );
  return webhookIds.length;
}
