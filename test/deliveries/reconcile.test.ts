import { beforeAll, expect, it } from 'vitest';
import { reconcileDeliveries } from '../../src/deliveries/reconcile.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber, NOWHERE, type Subscriber, setCursor } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });

const CASES = [
  'pending',
  'nothing pending',
  'retry due',
  'retry later',
  'failed for good',
  'replay',
  'paused',
  'disabled',
  'leased',
  'lease over',
  'circuit open',
  'circuit half-open',
  'blocked',
] as const;

let subscriber: Subscriber;
let ids: string[];
const idOf = (name: (typeof CASES)[number]) => subscriber.webhookIds[CASES.indexOf(name)] ?? '';

beforeAll(async () => {
  const { database } = service.runtime;
  subscriber = await createSubscriber(
    service,
    NOWHERE,
    ...CASES.map((name) => ({ ordered: name === 'blocked' })),
  );
  ids = await subscriber.store(2);
  const [first = '', second = ''] = ids;
  const record = (name: (typeof CASES)[number], status: 'pending' | 'delivered' | 'failed', all = true) =>
    recordDeliveries(
      database,
      { id: idOf(name), customerId: subscriber.customerId },
      (all ? [first, second] : [first]).map((transactionId) => ({ transactionId, status })),
    );
  await record('nothing pending', 'delivered');
  for (const name of ['retry due', 'retry later'] as const) await record(name, 'pending');
  await database.query('UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND transaction_id = ?', [
    idOf('retry due'),
    second,
  ]);
  await record('failed for good', 'failed');
  await record('replay', 'delivered');
  await database.query(
    `INSERT INTO replays (customer_id, webhook_id, statuses, position, until_id) VALUES (?, ?, 'delivered', 0, ?)`,
    [subscriber.customerId, idOf('replay'), second],
  );
  await record('blocked', 'pending', false);
  for (const status of ['paused', 'disabled'] as const) {
    await database.query('UPDATE webhooks SET status = ? WHERE id = ?', [status, idOf(status)]);
  }
  await setCursor(service, idOf('leased'), 'lease_until = NOW(6) + INTERVAL 10 SECOND');
  await setCursor(service, idOf('lease over'), 'lease_until = NOW(6) - INTERVAL 1 SECOND');
  await setCursor(service, idOf('circuit open'), 'circuit_open_until = NOW(6) + INTERVAL 1 HOUR');
  await setCursor(service, idOf('circuit half-open'), 'circuit_open_until = NOW(6) - INTERVAL 1 SECOND');
});

async function reconcile(): Promise<{ added: number; ids: string[] }> {
  const found: string[] = [];
  const added = await reconcileDeliveries(service.runtime.database, async (more) => void found.push(...more));
  return { added, ids: found };
}

it('the reconciler finds the webhooks that have something due and that no run is at', async () => {
  const due = ['pending', 'retry due', 'replay', 'lease over', 'circuit half-open'] as const;
  await setCursor(service, idOf('leased'), 'lease_until = NOW(6) + INTERVAL 12 SECOND');
  expect(await reconcile()).toEqual({ added: due.length, ids: due.map(idOf) });
});

it('the reconciler finds them among thousands', async () => {
  const { database } = service.runtime;
  const before = (await reconcile()).ids;
  for (const table of ['webhooks', 'webhook_cursors', 'webhook_backlogs'] as const) {
    const columns = {
      webhooks: 'title, endpoint, event, status, secret, encoding, hash_encoding, ordered, max_in_flight',
      webhook_cursors: 'sent_through, highest_recorded_id',
      webhook_backlogs: 'matched_through',
    }[table];
    const id = table === 'webhooks' ? 'id' : 'webhook_id';
    await database.query(
      `INSERT INTO ${table} (${id}, customer_id, ${columns})
       WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < 900)
       SELECT w.${id} + 10000 * n.n, w.customer_id, ${columns} FROM ${table} w JOIN n WHERE w.${id} IN (?)`,
      [[idOf('nothing pending'), idOf('pending'), idOf('retry later')]],
    );
  }
  const { added, ids: found } = await reconcile();
  expect(found).toEqual(found.toSorted((a, b) => Number(a) - Number(b)));
  // Retries were not copied, so the copies of "retry later" have nothing due.
  expect([added, found.length, new Set(found).size]).toEqual(Array(3).fill(before.length + 900));
});
