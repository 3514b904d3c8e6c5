import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wakeWebhooks } from '../../../src/delivery/wake.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useOwnService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { createSubscriber } from '../../support/subscriber.ts';
import { until } from '../../support/until.ts';
import { deliveriesOf, useDeliveryWorkers } from '../../support/webhooks.ts';
import { removeAt, YOUNG } from './kept.ts';

const service = useOwnService({ because: 'retention removes what any customer has', roles: ['api'] });
const receiver = useReceiver();
const workers = useDeliveryWorkers(service);

const RUNS = 25;
const SEED = 20_261_122;

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

/** The recorded state of a movement, and whether the movement, and its last attempt, are old. */
const history = fc.record({
  status: fc.constantFrom('delivered' as const, 'delivered' as const, 'failed' as const, 'pending' as const),
  attemptedLately: fc.boolean(),
});

/** Movements in the order of their ids. Up to `sent`, each has a result; up to `recorded`, some have one. */
const world = fc.record({
  movements: fc.array(history, { minLength: 1, maxLength: 30 }),
  old: fc.nat(30),
  sent: fc.nat(30),
  recorded: fc.nat(30),
  gap: fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
  event: fc.constantFrom('NEW_TRANSACTION', 'NEW_CREDIT', 'NEW_DEBIT'),
  rounds: fc.integer({ min: 1, max: 2 }),
});

type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

let runs = 0;

async function build({ movements, old, sent, recorded, gap, event }: World) {
  runs += 1;
  const path = `/run/${runs}`;
  const subscriber = await createSubscriber(service, `${receiver.url}${path}`, { event });
  const { webhook, store } = subscriber;
  const ids = await store(
    movements.map((_, at) => ({
      dc: at % 2 === 0 ? 'Credit' : 'Debit',
      ...(at < old ? {} : { dateReaded: YOUNG }),
    })),
  );
  const matches = (at: number) => event === 'NEW_TRANSACTION' || (event === 'NEW_CREDIT') === (at % 2 === 0);
  const hasResult = (at: number) => matches(at) && (at < sent || (at < recorded && gap[at] === true));
  const results = ids.flatMap((transactionId, at) =>
    hasResult(at) ? [{ transactionId, status: movements[at]?.status ?? 'delivered' }] : [],
  );
  const sentThrough = sent === 0 ? '0' : (ids[Math.min(sent, ids.length) - 1] ?? '0');
  if (results.length > 0) await recordDeliveries(service.runtime.database, webhook, results, { sentThrough });
  else
    await query('UPDATE webhook_cursors SET sent_through = ? WHERE webhook_id = ?', sentThrough, webhook.id);
  const lately = ids.filter((_, at) => movements[at]?.attemptedLately);
  if (lately.length > 0) {
    await query(
      'UPDATE deliveries SET started_at = ? WHERE webhook_id = ? AND transaction_id IN (?)',
      YOUNG,
      webhook.id,
      lately,
    );
  }
  return { ...subscriber, path };
}

describe('after retention', () => {
  it('every delivery that was pending before is sent once, and no delivered one is sent again', async () => {
    workers.start({ linger: 10 });
    await fc.assert(
      fc.asyncProperty(world, async (plan) => {
        const { key, webhook, path } = await build(plan);
        const pending = (await deliveriesOf(service, webhook.id))
          .filter(({ status }) => status === 'pending')
          .map(({ transaction_id }) => `msg_${webhook.id}-${transaction_id}`);
        const viewed = async () =>
          (await service.call('GET', `/v1/webhooks/${webhook.id}`, { key })).body.webhook.deliveries;
        const before = await viewed();
        expect(before.pending).toBe(pending.length);

        const kept = { deliveries: 90, attempts: 30, imports: 90, movements: 90 };
        for (let round = 0; round < plan.rounds; round += 1) await removeAt(service, kept);
        expect(await viewed()).toEqual(before);

        await query(
          'UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND due_at IS NOT NULL',
          webhook.id,
        );
        await wakeWebhooks(service.runtime, [webhook.id], { reread: true });
        await until('nothing pending', async () => (await viewed()).pending === 0);
        const sent = receiver.at(path).map(({ headers }) => headers['webhook-id']);
        expect(sent.toSorted()).toEqual(pending.toSorted());
        await removeAt(service, kept, new Date('2027-06-01'));
        expect(await query('SELECT 1 FROM transactions WHERE customer_id = ?', webhook.customerId)).toEqual(
          [],
        );
        expect(await query('SELECT 1 FROM retries WHERE webhook_id = ?', webhook.id)).toEqual([]);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});
