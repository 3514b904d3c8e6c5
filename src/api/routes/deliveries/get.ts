import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import {
  AttemptView,
  DeliveryView,
  findDelivery,
  readAttempts,
  requireDeliveryId,
  viewAttempt,
  viewDelivery,
} from '../../../delivery/delivery.ts';
import { createRoute } from '../route.ts';
import { DELIVERY_ID } from './delivery-id.ts';

/** GET /v1/deliveries/:id */
export const getDeliveryRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      operationId: 'getDelivery',
      summary: 'Get a delivery and its attempts',
      description:
        'The id of a delivery is <webhook_id>-<transaction_id>: what follows msg_ in the header webhook-id. attempts is the number of attempts, and log lists those that are still kept.',
      path: { id: DELIVERY_ID },
      answer: {
        schema: v.object({ delivery: v.object({ ...DeliveryView.entries, log: v.array(AttemptView) }) }),
        description: 'The delivery, with its attempts from the first to the last.',
      },
    },
    async (c) => {
      const key = requireDeliveryId(c.req.param('id'));
      const delivery = await findDelivery(database, c.get('caller'), key);
      const log = await readAttempts(database, {
        webhookIds: [key.webhookId],
        transactionIds: [key.transactionId],
      });
      return c.json({
        delivery: { ...viewDelivery(delivery, delivery.webhook_status), log: log.map(viewAttempt) },
      });
    },
  );
