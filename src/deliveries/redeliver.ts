import * as v from 'valibot';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';
import { wakeChangedWebhook } from '../webhooks/wake-changed.ts';
import { findDelivery, readDeliveryKey } from './find.ts';
import { redeliver } from './request-redelivery.ts';
import { notSendable } from './sendable.ts';
import { DELIVERY_ID, DeliveryView, viewDelivery } from './view.ts';

/** POST /v1/deliveries/:id/redeliver */
export const redeliverDelivery = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'webhooks',
      summary: 'Send a notification again',
      description:
        'A delivery that is delivered or failed becomes pending again, with the same webhook-id and the whole schedule before it; one that is pending is due now. If its webhook is paused, it is sent when the webhook is active again; that of a disabled or deleted webhook is refused.',
      path: { id: DELIVERY_ID },
      answer: {
        status: 202,
        schema: v.object({ delivery: DeliveryView }),
        description: 'The delivery, pending.',
      },
      problems: ['not-found', 'webhook-disabled', 'webhook-deleted'],
    },
    async (c) => {
      const { database } = runtime;
      const caller = c.get('caller');
      const key = readDeliveryKey(c);
      // A caller that may not see the delivery must not wait for its locks either.
      await findDelivery(database, caller, key);
      const sendable = await redeliver(database, key);
      if (sendable !== 'accepted') throw notSendable(sendable);
      const delivery = await findDelivery(database, caller, key);
      await wakeChangedWebhook(runtime, key.webhookId);
      return c.json({ delivery: viewDelivery(delivery) }, 202);
    },
  );
