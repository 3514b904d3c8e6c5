import { describe, expect, it } from 'vitest';
import { actFor } from '../../../src/customers/caller.ts';
import { expandReplay } from '../../../src/delivery/engine/expand-replay.ts';
import { redeliver } from '../../../src/delivery/replays.ts';
import { removeOld } from '../../../src/upkeep/retention/retention.ts';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';
import { expectProblem } from '../../support/problem.ts';
import { createReplay } from '../../support/replays.ts';
import { useOwnService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../../support/subscriber.ts';
import { deliveriesOf } from '../../support/webhooks.ts';
import { countRows, FOREVER, NOW, removeAt, YOUNG } from './kept.ts';

// The rows of delivery runs are written by SQL.
const service = useOwnService({ because: 'retention removes what any customer has', roles: ['api'] });

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
const record = (...args: Parameters<typeof recordDeliveries> extends [unknown, ...infer R] ? R : never) =>
  recordDeliveries(service.runtime.database, ...args);

const TABLES = ['deliveries', 'attempts', 'retries'];
const rowsOf = ({ customerId }: Subscriber) => countRows(service, customerId, TABLES);
const idsOf = async (webhookId: string) =>
  (
    await query<{ id: string }>(
      'SELECT transaction_id AS id FROM deliveries WHERE webhook_id = ? ORDER BY 1',
      webhookId,
    )
  ).map(({ id }) => id);

async function viewOf({ key, webhook }: Subscriber) {
  const { body } = await service.call('GET', `/v1/webhooks/${webhook.id}`, { key });
  return body.webhook.deliveries;
}

describe('retention of deliveries', () => {
  it('removes old ended deliveries with their attempts and dead letters, and keeps those of younger movements', async () => {
    const subscriber = await createSubscriber(service);
    const { key, webhook, store } = subscriber;
    const [delivered = '', failed = '', young = ''] = await store([{}, {}, { dateReaded: YOUNG }]);
    await record(webhook, [
      { transactionId: delivered, status: 'delivered', attempts: 3 },
      { transactionId: failed, status: 'failed', attempts: 12 },
      { transactionId: young, status: 'failed', attempts: 12 },
    ]);
    const before = await viewOf(subscriber);
    expect(await removeAt(service)).toMatchObject({ deliveries: 2 });
    expect(await idsOf(webhook.id)).toEqual([young]);
    expect(await rowsOf(subscriber)).toEqual({ deliveries: 1, attempts: 1, retries: 1 });
    // The numbers of a webhook go on counting what was removed, and nothing is pending because of it.
    expect(await viewOf(subscriber)).toEqual(before);
    expect(before).toEqual({ pending: 0, delivered: 1, failed: 2, to_come: 0 });
    for (const id of [delivered, failed]) {
      const path = `/v1/deliveries/${webhook.id}-${id}`;
      expectProblem(await service.call('GET', path, { key }), 404);
      expectProblem(await service.call('POST', `${path}/redeliver`, { key }), 404);
      const { body } = await service.call('GET', `/v1/transactions/${id}/deliveries`, { key });
      expect(body.deliveries).toEqual([]);
    }
    const { body } = await service.call('GET', `/v1/webhooks/${webhook.id}/deliveries`, { key });
    expect(body.deliveries.map((it: { transaction_id: number }) => it.transaction_id)).toEqual([
      Number(young),
    ]);
    expect(await removeAt(service)).toMatchObject({ deliveries: 0 });
  });

  it('removes rejected batches with their deliveries, and those that are as old as attempts may be', async () => {
    const { webhook, customerId, store } = await createSubscriber(service);
    const [old = '', young = ''] = await store([{}, { dateReaded: YOUNG }]);
    await record(webhook, [{ transactionId: old, status: 'delivered' }]);
    const reject = (id: string, startedAt: string) =>
      query(
        `INSERT INTO rejected_batches (webhook_id, customer_id, first_id, last_id, events, status_code, started_at, duration_ms)
         VALUES (?, ?, ?, ?, 2, 422, ?, 1)`,
        ...[webhook.id, customerId, id, id, startedAt],
      );
    await reject(old, YOUNG);
    await reject(young, YOUNG);
    await reject(young, '2001-01-01 00:00:00');
    await removeAt(service, { deliveries: 90, attempts: 60 });
    expect(await query('SELECT first_id FROM rejected_batches WHERE webhook_id = ?', webhook.id)).toEqual([
      { first_id: young },
    ]);
  });

  it('keeps a pending delivery, whether it waits for an attempt or was never attempted', async () => {
    const subscriber = await createSubscriber(service);
    const { webhook, store } = subscriber;
    const [waiting = '', delivered = ''] = await store([{}, {}, {}]);
    await record(webhook, [
      { transactionId: waiting, status: 'pending' },
      { transactionId: delivered, status: 'delivered' },
    ]);
    await removeAt(service);
    const statuses = (await deliveriesOf(service, webhook.id)).map(({ status }) => status);
    expect(statuses).toEqual(['pending', 'pending']);
    expect(await rowsOf(subscriber)).toEqual({ deliveries: 1, attempts: 1, retries: 1 });
    expect(await viewOf(subscriber)).toEqual({ pending: 2, delivered: 1, failed: 0, to_come: 0 });
  });

  it('keeps a delivery after the cursor, because a run that starts at the cursor would send its movement again', async () => {
    const { webhook, store } = await createSubscriber(service);
    const [first = '', , third = '', fourth = ''] = await store([{}, {}, {}, {}]);
    const deliveries = [first, third, fourth].map((transactionId) => ({
      transactionId,
      status: 'delivered' as const,
    }));
    await record(webhook, deliveries, { sentThrough: first });
    await removeAt(service);
    expect(await idsOf(webhook.id)).toEqual([third, fourth]);
  });

  it('keeps a delivery that was attempted recently', async () => {
    const { webhook, store } = await createSubscriber(service);
    const [old = '', again = ''] = await store([{}, {}]);
    await record(
      webhook,
      [old, again].map((transactionId) => ({ transactionId, status: 'delivered' })),
    );
    await query('UPDATE deliveries SET started_at = ? WHERE transaction_id = ?', YOUNG, again);
    await removeAt(service);
    expect(await idsOf(webhook.id)).toEqual([again]);
  });

  it('keeps a delivery that an open replay has yet to reach until the replay is finished', async () => {
    const { webhook, store } = await createSubscriber(service);
    const [before = '', inside = ''] = await store([{ dateReaded: '2026-01-01 00:00:00' }, {}]);
    await record(
      webhook,
      [before, inside].map((transactionId) => ({ transactionId, status: 'delivered' })),
    );
    const replay = { webhook, since: '2026-01-15 00:00:00', statuses: ['delivered'] as const };
    await createReplay(service.runtime.database, replay);
    await removeAt(service);
    expect(await idsOf(webhook.id)).toEqual([inside]);
    await expandReplay(service.runtime.database, webhook.id);
    await removeAt(service);
    expect(await deliveriesOf(service, webhook.id)).toMatchObject([
      { status: 'pending', transaction_id: inside },
    ]);
  });

  it('removes the deliveries of a deleted webhook, also pending ones, and then the webhook with all of its rows', async () => {
    const subscriber = await createSubscriber(service);
    const { key, customerId, webhook, store } = subscriber;
    const [waiting = ''] = await store([{}, {}]);
    await record(webhook, [{ transactionId: waiting, status: 'pending' }]);
    await service.call('DELETE', `/v1/webhooks/${webhook.id}`, { key });
    const tables = [
      ...TABLES,
      'webhooks',
      'webhook_filters',
      'webhook_backlogs',
      'webhook_cursors',
      'replays',
    ];
    await store([{ dateReaded: YOUNG }]);
    expect(await removeAt(service)).toMatchObject({ deliveries: 1, webhooks: 1 });
    expect(Object.values(await countRows(service, customerId, tables))).toEqual(tables.map(() => 0));
  });

  it('keeps a deleted webhook that matched a younger movement, so that its cancelled deliveries can be read', async () => {
    const { key, webhook, store } = await createSubscriber(service);
    const [, young = ''] = await store([{}, { dateReaded: YOUNG }]);
    await service.call('DELETE', `/v1/webhooks/${webhook.id}`, { key });
    await removeAt(service);
    const { body } = await service.call('GET', `/v1/deliveries/${webhook.id}-${young}`, { key });
    expect(body.delivery.status).toBe('cancelled');
  });

  it('removes filters that no longer apply to anything, and finished replays', async () => {
    const { key, webhook, store } = await createSubscriber(service);
    const { database } = service.runtime;
    const ids: string[] = [];
    for (const event of ['NEW_DEBIT', 'NEW_CREDIT', 'NEW_TRANSACTION']) {
      ids.push(...(await store([{}])));
      await service.call('PATCH', `/v1/webhooks/${webhook.id}`, { key, body: { event } });
    }
    const [young = ''] = await store([{ dateReaded: YOUNG }]);
    await createReplay(database, { webhook, since: '2000-01-01 00:00:00' });
    await query("UPDATE replays SET finished_at = '2026-02-01' WHERE webhook_id = ?", webhook.id);
    const filters = () =>
      query<{ from_id: string; event: string }>(
        'SELECT from_id, event FROM webhook_filters WHERE webhook_id = ? ORDER BY from_id',
        webhook.id,
      );
    expect(await filters()).toHaveLength(4);
    // The cursor is still at the first one: its filters are needed.
    await removeAt(service, { deliveries: 90, movements: 90 });
    expect(await filters()).toHaveLength(4);
    await record(webhook, [{ transactionId: young, status: 'delivered' }]);
    // A replay may begin at any movement that is left.
    expect(await removeAt(service)).toMatchObject({ filters: 0 });
    expect(await removeAt(service, { deliveries: 90, movements: 90 })).toMatchObject({ filters: 3 });
    expect(await filters()).toEqual([{ from_id: ids.at(-1), event: 'NEW_TRANSACTION' }]);
    expect(await query('SELECT 1 FROM replays WHERE webhook_id = ?', webhook.id)).toEqual([]);
  });

  it('removes nothing when deliveries are kept for ever, and only attempts when only deliveries are', async () => {
    const subscriber = await createSubscriber(service);
    const { key, webhook, store } = subscriber;
    const [id = ''] = await store([{}]);
    await record(webhook, [{ transactionId: id, status: 'failed', attempts: 12 }]);
    expect(Object.values(await removeAt(service, FOREVER)).every((count) => count === 0)).toBe(true);
    expect(await rowsOf(subscriber)).toEqual({ deliveries: 1, attempts: 1, retries: 1 });
    await removeAt(service, { attempts: 30 });
    expect(await rowsOf(subscriber)).toEqual({ deliveries: 1, attempts: 0, retries: 1 });
    const { body } = await service.call('GET', `/v1/deliveries/${webhook.id}-${id}`, { key });
    // The delivery itself knows its last attempt.
    expect(body.delivery).toMatchObject({ attempts: 12, status: 'failed', log: [{ number: 12 }] });
    expect(await removeAt(service)).toMatchObject({ deliveries: 1 });
  });
});

describe('retention', () => {
  it('counts right and loses no delivery in several processes while deliveries are requested again', async () => {
    const { customerId, webhook, store } = await createSubscriber(service);
    const caller = actFor(customerId, { source: 'console', name: 'ayse', role: 'admin' });
    const ids = await store(1_200);
    await record(
      webhook,
      ids.map((transactionId) => ({ transactionId, status: 'delivered' })),
    );
    const again = ids.filter((_, at) => at % 7 === 3);
    const requests = async () => {
      for (const subjectId of again) {
        // A delivery that was removed before is not found.
        await redeliver(service.runtime, caller, { webhookId: webhook.id, subjectId }).catch((error) =>
          expect(error).toMatchObject({ problem: 'not-found' }),
        );
      }
    };
    const results = await Promise.all([removeAt(service), removeAt(service), requests()]);
    const rows = await deliveriesOf(service, webhook.id);
    expect(rows.every(({ status }) => status === 'pending')).toBe(true);
    const [cursor] = await query<{ delivered_count: string }>(
      'SELECT delivered_count FROM webhook_cursors WHERE webhook_id = ?',
      webhook.id,
    );
    // Deliveries that became pending are not counted as delivered, and removed ones still are.
    expect(Number(cursor?.delivered_count)).toBe(ids.length - rows.length);
    expect(results[0].deliveries + results[1].deliveries).toBe(ids.length - rows.length);
    const retries = await query('SELECT 1 FROM retries WHERE webhook_id = ?', webhook.id);
    expect(retries).toHaveLength(rows.length);
  });

  it('can be stopped after any step, and goes on with what is left', async () => {
    const { webhook, store } = await createSubscriber(service, NOWHERE);
    const ids = await store(1_100);
    await record(
      webhook,
      ids.map((transactionId) => ({ transactionId, status: 'delivered' })),
    );
    const stopping = new AbortController();
    const { database } = service.runtime;
    const steps = createSteps({ signal: stopping.signal, pauses: false });
    const stopAfterOne = {
      repeat: (step: (rows: number) => Promise<boolean>) =>
        steps.repeat(async (rows) => {
          const goesOn = await step(rows);
          if ((await idsOf(webhook.id)).length < ids.length) stopping.abort();
          return goesOn;
        }),
    };
    const options = { database, retention: { ...FOREVER, deliveries: 90 }, now: NOW };
    const { deliveries } = await removeOld({ ...options, steps: stopAfterOne });
    expect(deliveries).toBeGreaterThan(0);
    expect(deliveries).toBeLessThan(ids.length);
    expect(await removeAt(service)).toMatchObject({ deliveries: ids.length - deliveries });
  });
});
