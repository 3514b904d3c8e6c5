import * as v from 'valibot';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { notFound } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import { findTransaction } from '../listing/transactions.ts';
import type { Runtime } from '../runtime.ts';
import { findDeliveriesOf } from './find.ts';
import { DeliveryView, viewDelivery } from './view.ts';

/** GET /v1/transactions/:id/deliveries */
export const listDeliveriesOfMovement = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      summary: 'List the deliveries of a movement',
      description:
        'Shows which webhooks the movement was or will be sent to, and what their endpoints answered: one delivery for each webhook.',
      path: { id: idParameter('movement') },
      answer: {
        schema: v.object({ deliveries: v.array(DeliveryView) }),
        description: 'The deliveries, by webhook id.',
      },
    },
    async (c) => {
      const caller = c.get('caller');
      const id = readId(c, 'movement');
      if ((await findTransaction(database, caller, id, config.zone)) === null) throw notFound('movement');
      const deliveries = await findDeliveriesOf(database, caller, id);
      return c.json({ deliveries: deliveries.map((row) => viewDelivery(row, row.webhook_status)) });
    },
  );
