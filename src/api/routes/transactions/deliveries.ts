import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { DeliveryView, findDeliveriesOf, viewDelivery } from '../../../delivery/delivery.ts';
import { readId } from '../../../http/input.ts';
import { findTransaction } from '../../../movements/transactions.ts';
import { notFound } from '../../../platform/problem.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** GET /v1/transactions/:id/deliveries */
export const listDeliveriesOfMovementRoute = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      operationId: 'listTransactionDeliveries',
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
