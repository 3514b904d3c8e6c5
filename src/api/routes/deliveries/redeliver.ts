import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { DeliveryView, requireDeliveryId, viewDelivery } from '../../../delivery/delivery.ts';
import { redeliver } from '../../../delivery/replays.ts';
import { createRoute } from '../route.ts';
import { DELIVERY_ID } from './delivery-id.ts';

/** POST /v1/deliveries/:id/redeliver */
export const redeliverRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'webhooks',
      alsoNeeds: 'read',
      idempotent: true,
      operationId: 'redeliver',
      summary: 'Send a notification again',
      description:
        'A delivered or failed delivery becomes pending again, with the same webhook-id and a new retry schedule. A pending one becomes due now. If the webhook is paused, the delivery is sent when the webhook is active again. If the webhook is disabled or deleted, or the account of the movement is being deleted, the answer is 409.',
      path: { id: DELIVERY_ID },
      answer: {
        status: 202,
        schema: v.object({ delivery: DeliveryView }),
        description: 'The delivery, now pending.',
      },
      problems: ['webhook-disabled', 'webhook-deleted', 'account-deleting'],
    },
    async (c) => {
      const delivery = await redeliver(runtime, c.get('caller'), requireDeliveryId(c.req.param('id')));
      return c.json({ delivery: viewDelivery(delivery) }, 202);
    },
  );
