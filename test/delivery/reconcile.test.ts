import { beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/database/transaction.ts';
import { reconcileDeliveries } from '../../src/delivery/reconcile.ts';
import { importMovements, movement } from '../support/movements.ts';
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

const byNumber = (one: string, other: string) => Number(one) - Number(other);

async function reconcile(): Promise<{ added: number; ids: string[] }> {
  const found: string[] = [];
  const added = await reconcileDeliveries(service.runtime.database, async (more) => void found.push(...more));
  return { added, ids: found };
}

it('the reconciler finds the webhooks that have something due and no run', async () => {
  const due = ['pending', 'retry due', 'replay', 'lease over', 'circuit half-open'] as const;
  await setCursor(service, idOf('leased'), 'lease_until = NOW(6) + INTERVAL 12 SECOND');
  const { added, ids: found } = await reconcile();
  expect([added, found.toSorted(byNumber)]).toEqual([due.length, due.map(idOf)]);
});

/** When the reconciler looks at a webhook next, in seconds from now; null: not at all. */
async function nextLook(webhookId: string): Promise<number | null> {
  const [row] = await service.runtime.database.query<{ seconds: string | null }[]>(
    'SELECT TIMESTAMPDIFF(MICROSECOND, NOW(6), due_at) / 1000000 AS seconds FROM webhook_backlogs WHERE webhook_id = ?',
    [webhookId],
  );
  return row?.seconds == null ? null : Number(row.seconds);
}

it('the reconciler looks at a webhook again when it may send, and within an hour if that is far away', async () => {
  await setCursor(service, idOf('leased'), 'lease_until = NOW(6) + INTERVAL 12 SECOND');
  await reconcile();
  expect(await nextLook(idOf('pending'))).toBeLessThanOrEqual(0);
  for (const name of ['nothing pending', 'failed for good', 'paused', 'disabled'] as const)
    expect([name, await nextLook(idOf(name))]).toEqual([name, null]);
  expect(await nextLook(idOf('leased'))).toBeGreaterThan(5);
  expect(await nextLook(idOf('leased'))).toBeLessThanOrEqual(12);
  for (const name of ['retry later', 'blocked', 'circuit open'] as const) {
    expect(await nextLook(idOf(name)), name).toBeGreaterThan(3_500);
    expect(await nextLook(idOf(name)), name).toBeLessThanOrEqual(3_600);
  }
});

it('the reconciler looks at a webhook immediately after the clock was set back', async () => {
  const { database } = service.runtime;
  await database.query('UPDATE webhook_backlogs SET due_at = NOW(6) + INTERVAL 1 DAY WHERE webhook_id = ?', [
    idOf('pending'),
  ]);
  expect((await reconcile()).ids).toContain(idOf('pending'));
});

it('the reconciler finds due webhooks among thousands', async () => {
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
  // Retries were not copied, so the copies of "retry later" have nothing due.
  expect([added, found.length, new Set(found).size]).toEqual(Array(3).fill(before.length + 900));
});

describe('a webhook with nothing pending is due again', () => {
  const webhookPath = () => `/v1/webhooks/${idOf('nothing pending')}`;
  const failed = (webhookId: string) => `${webhookId}-${ids[0]}`;
  const ask = (path: string, body?: object) =>
    service.call('POST', path, { key: subscriber.key, ...(body === undefined ? {} : { body }) });
  const CHANGES: [what: string, webhook: (typeof CASES)[number], change: () => Promise<unknown>][] = [
    [
      'after a change of its settings',
      'nothing pending',
      () => service.call('PATCH', webhookPath(), { key: subscriber.key, body: { title: 'Other' } }),
    ],
    [
      'after it was enabled',
      'disabled',
      () =>
        service.call('PATCH', `/v1/webhooks/${idOf('disabled')}`, {
          key: subscriber.key,
          body: { status: 'active' },
        }),
    ],
    [
      'after a redelivery',
      'failed for good',
      () => ask(`/v1/deliveries/${failed(idOf('failed for good'))}/redeliver`),
    ],
    [
      'after a replay',
      'failed for good',
      () => ask(`/v1/webhooks/${idOf('failed for good')}/replay`, { since: '2020-01-01 00:00:00' }),
    ],
    [
      'after an import',
      'nothing pending',
      () => importMovements(service, subscriber.key, [movement(subscriber.accountId, { unique_id: 'new' })]),
    ],
  ];

  it.each(CHANGES)('%s', async (_what, name, change) => {
    const { database } = service.runtime;
    await database.query('UPDATE webhook_backlogs SET due_at = NULL WHERE webhook_id = ?', [idOf(name)]);
    await change();
    expect(await nextLook(idOf(name))).toBeLessThanOrEqual(0);
  });
});

it('a webhook that becomes due while the reconciler looks stays due', async () => {
  const { database } = service.runtime;
  const webhookId = idOf('retry later');
  const due = 'UPDATE webhook_backlogs SET due_at = NOW(6) WHERE webhook_id = ?';
  await database.query(due, [webhookId]);
  await database.query(due, [idOf('pending')]);
  // Jobs are added after the states were read, and before due_at is moved.
  await reconcileDeliveries(database, () => database.query(due, [webhookId]));
  expect(await nextLook(webhookId)).toBeLessThanOrEqual(0);
});

it('the reconciler does not wait for a backlog that an import has locked', async () => {
  const { database } = service.runtime;
  const webhookId = idOf('retry later');
  await database.query('UPDATE webhook_backlogs SET due_at = NOW(6) WHERE webhook_id = ?', [webhookId]);
  await inTransaction(database, async (sql) => {
    await sql.query('SELECT 1 FROM webhook_backlogs WHERE webhook_id = ? FOR UPDATE', [webhookId]);
    await reconcile();
  });
  expect(await nextLook(webhookId)).toBeLessThanOrEqual(0);
});
