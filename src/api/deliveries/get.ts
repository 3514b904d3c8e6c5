import * as v from 'valibot';
import { createHandlers } from '../../http/environment.ts';
import type { Runtime } from '../../runtime.ts';
import { readId } from '../input.ts';
import { describe } from '../openapi.ts';
import { findDelivery } from './find.ts';
import { type AttemptRow, AttemptView, DeliveryView, viewAttempt, viewDelivery } from './view.ts';

const LOG = `
  SELECT number, outcome, status_code, started_at, duration_ms, error, response
  FROM attempts WHERE delivery_id = ? ORDER BY number`;

/** GET /v1/deliveries/:id */
export const getDelivery = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Deliveries',
      summary: 'Look at a delivery and its attempts',
      description: 'Its id is the number in webhook-id: msg_<id>. attempts counts them, log has each.',
      answer: {
        schema: v.object({ delivery: v.object({ ...DeliveryView.entries, log: v.array(AttemptView) }) }),
        description: 'The delivery, with its attempts in their order.',
      },
      problems: ['not-found'],
    }),
    async (c) => {
      const delivery = await findDelivery(database, c.get('caller'), readId(c, 'delivery'));
      const log = await database.query<AttemptRow[]>(LOG, [delivery.id]);
      return c.json({ delivery: { ...viewDelivery(delivery), log: log.map(viewAttempt) } });
    },
  );
