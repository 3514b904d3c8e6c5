import * as v from 'valibot';
import { inTransaction } from '../../database/transaction.ts';
import { AT_ONCE } from '../../delivering/due.ts';
import { OWED_AGAIN } from '../../delivering/replay.ts';
import { createHandlers } from '../../http/environment.ts';
import { Problem } from '../../http/problem.ts';
import type { Runtime } from '../../runtime.ts';
import { readId } from '../input.ts';
import { describe } from '../openapi.ts';
import { wakeWebhook } from '../webhooks/wake.ts';
import { findDelivery } from './find.ts';
import { DeliveryView, viewDelivery } from './view.ts';

const LOCK = 'SELECT id FROM deliveries WHERE id = ? FOR UPDATE';

/** One that is pending keeps its place on the schedule. */
const BRING_FORWARD = `UPDATE deliveries SET due_at = ${AT_ONCE} WHERE id = ?`;

const OWE_AGAIN = `UPDATE deliveries SET ${OWED_AGAIN} WHERE id = ?`;

/** POST /v1/deliveries/:id/redeliver */
export const redeliver = (runtime: Runtime) =>
  createHandlers(
    describe({
      tag: 'Deliveries',
      summary: 'Send a notification again',
      description:
        'However it has ended, it is owed again, with the same webhook-id and the whole schedule; one that is pending is due at once. If its webhook is paused it waits until that is active.',
      answer: {
        status: 202,
        schema: v.object({ delivery: DeliveryView }),
        description: 'The delivery, pending.',
      },
      problems: ['not-found', 'conflict'],
    }),
    async (c) => {
      const { database } = runtime;
      const caller = c.get('caller');
      const id = readId(c, 'delivery');
      const delivery = await inTransaction(database, async (sql) => {
        // Who may not see it must not wait for its lock either.
        await findDelivery(sql, caller, id);
        await sql.query(LOCK, [id]);
        const { status, webhook_status } = await findDelivery(sql, caller, id);
        requireSending(webhook_status);
        await sql.query(status === 'pending' ? BRING_FORWARD : OWE_AGAIN, [id]);
        return findDelivery(sql, caller, id);
      });
      await wakeWebhook(runtime, delivery.webhook_id);
      return c.json({ delivery: viewDelivery(delivery) }, 202);
    },
  );

/** @throws {Problem} 409. */
function requireSending(status: 'active' | 'paused' | 'disabled' | 'deleted'): void {
  switch (status) {
    case 'active':
    case 'paused':
      return;
    case 'disabled':
      throw new Problem(
        'conflict',
        'The webhook of this delivery is disabled: set its status to "active" with PATCH /v1/webhooks/:id first.',
      );
    case 'deleted':
      throw new Problem(
        'conflict',
        'The webhook of this delivery was deleted: make a new webhook, and take past movements from GET /v1/transactions.',
      );
  }
}
