import * as v from 'valibot';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';
import { findDelivery, readAttempts, readDeliveryKey } from './find.ts';
import { AttemptView, DELIVERY_ID, DeliveryView, viewAttempt, viewDelivery } from './view.ts';

/** GET /v1/deliveries/:id */
export const getDelivery = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      summary: 'Look at a delivery and its attempts',
      description:
        'Its id is what follows msg_ in the header webhook-id: <webhook_id>-<transaction_id>. attempts counts the attempts, log has each.',
      path: { id: DELIVERY_ID },
      answer: {
        schema: v.object({ delivery: v.object({ ...DeliveryView.entries, log: v.array(AttemptView) }) }),
        description: 'The delivery, with its attempts in their order.',
      },
      problems: ['not-found'],
    },
    async (c) => {
      const key = readDeliveryKey(c);
      const delivery = await findDelivery(database, c.get('caller'), key);
      const log = await readAttempts(database, key);
      return c.json({
        delivery: { ...viewDelivery(delivery, delivery.webhook_status), log: log.map(viewAttempt) },
      });
    },
  );
