import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { setOperatorWebhook } from '../../../src/customers/operator-webhook.ts';
import { recordEvent } from '../../../src/delivering/events/record-event.ts';
import { createWebhookSecret } from '../../../src/delivering/posting/signature.ts';
import { reportEvents } from '../../../src/maintenance/report-events.ts';
import { createTestSource } from '../../collecting/test-source.ts';
import { mt940, type TestEntry } from '../../importing/statements/statement-files.ts';
import { createAccount, importMovements, movement } from '../../support/movements.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useService } from '../../support/service.ts';
import { createSubscriber, setCursor } from '../../support/subscriber.ts';
import { until } from '../../support/until.ts';
import { subscribe, useDeliveryWorkers } from '../../support/webhooks.ts';
import { openEvent, storedEvents, subscribeToEvents } from './received-events.ts';

const receiver = useReceiver();
const secret = createWebhookSecret();
// No maintenance role: the tests look for events themselves.
const service = useService({
  roles: ['api', 'importer'],
  config: {
    get opsWebhook() {
      return { url: `${receiver.url}/operator`, secret };
    },
  },
});
const workers = useDeliveryWorkers(service);

const report = () => reportEvents(service.runtime);

/** The event that the operator was sent about a customer. */
const toldOperator = (customerId: string, type: string) =>
  until(`${type} at the operator`, () =>
    receiver
      .at('/operator')
      .map((it) => openEvent(it, secret))
      .find((it) => it.type === type && it.data.customer_id === Number(customerId)),
  );

async function newCustomer(path: string) {
  const { api_key: key, customer } = await service.customer(path);
  const account = await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  const subscription = await subscribeToEvents(service, receiver, key, path);
  return { key, id: customer.id, account: account.id, subscription };
}

describe('operational events reach the customer and the operator, signed', () => {
  it('starts', async () => {
    await setOperatorWebhook(service.runtime);
    // The first failure is the last one.
    workers.start({ delays: [] });
  });

  it('webhook.disabled', async () => {
    const customer = await newCustomer('/disabled');
    receiver.answer('/gone?token=secret', (_, response) => response.writeHead(410).end());
    const gone = await subscribe(service, customer.key, `${receiver.url}/gone?token=secret`, {
      title: 'ERP',
    });
    await importMovements(service, customer.key, [movement(customer.account)]);
    await until('disabled', async () => (await storedEvents(service, customer.id, 'webhook.disabled'))[0]);
    await report();

    const event = await customer.subscription.next('webhook.disabled');
    const data = {
      customer_id: Number(customer.id),
      webhook: { id: Number(gone.id), title: 'ERP', event: 'NEW_TRANSACTION', origin: receiver.url },
      reason: 'The endpoint answered 410 Gone.',
    };
    expect(event).toEqual({
      id: expect.stringMatching(new RegExp(`^msg_${customer.subscription.id}-[0-9]{16}$`)),
      type: 'webhook.disabled',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      data,
    });
    expect((await toldOperator(customer.id, 'webhook.disabled')).data).toEqual(data);
  });

  it('webhook.failing, once for each percentage of a period of failures', async () => {
    const customer = await newCustomer('/failing');
    const ids: string[] = [];
    // 50 % of five days are 60 hours, 70 % 84, 90 % 108. A day without an attempt does not count.
    for (const [hours, days] of [
      [59, 3],
      [61, 3],
      [85, 4],
      [109, 5],
      [85, 2],
    ] as const) {
      const { id } = await subscribe(service, customer.key, 'http://127.0.0.1:9/');
      await setCursor(
        service,
        id,
        `failing_since = NOW(6) - INTERVAL ${hours} HOUR, failing_days = ${days}, last_error = 'answered 500'`,
      );
      ids.push(id);
    }
    await Promise.all([report(), report(), report()]);
    await report();
    const stored = await storedEvents(service, customer.id, 'webhook.failing');
    expect(stored.map(({ webhook_id, data }) => [webhook_id, JSON.parse(data).percent])).toEqual([
      [ids[1], 50],
      [ids[2], 70],
      [ids[3], 90],
    ]);
    await until('all received', () => customer.subscription.events('webhook.failing').length === 3);
    const { data } = await customer.subscription.next('webhook.failing');
    expect(data).toMatchObject({ last_error: 'answered 500', webhook: { origin: 'http://127.0.0.1:9' } });
    expect(Date.parse(data.disabled_at) - Date.parse(data.failing_since)).toBe(5 * 86_400_000);
    await toldOperator(customer.id, 'webhook.failing');
  });

  it('delivery.failed, at once and then once an hour with what has failed since', async () => {
    const customer = await newCustomer('/failed-deliveries');
    receiver.answer('/refusing', (_, response) => response.writeHead(422).end());
    const { id } = await subscribe(service, customer.key, `${receiver.url}/refusing`);
    const send = (movements: number) =>
      importMovements(
        service,
        customer.key,
        Array.from({ length: movements }, () => movement(customer.account, { unique_id: randomUUID() })),
      );
    const failed = (count: number) =>
      until(`${count} failed`, async () => {
        const { body } = await service.call('GET', `/v1/webhooks/${id}`, { key: customer.key });
        return body.webhook.deliveries.failed === count;
      });
    await send(25);
    await failed(25);
    await report();
    const first = await customer.subscription.next('delivery.failed');
    expect(first.data).toMatchObject({ webhook: { id: Number(id) }, failed: 25, last_error: 'answered 422' });
    expect(first.data.delivery_ids).toHaveLength(10);
    const { body } = await service.call('GET', `/v1/deliveries/${first.data.delivery_ids[0]}`, {
      key: customer.key,
    });
    expect(body.delivery).toMatchObject({ status: 'failed', event_id: null });

    await send(5);
    await failed(30);
    await report();
    expect(await storedEvents(service, customer.id, 'delivery.failed')).toHaveLength(1);
    await setCursor(service, id, 'failures_reported_at = NOW(6) - INTERVAL 61 MINUTE');
    await report();
    await report();
    const stored = await storedEvents(service, customer.id, 'delivery.failed');
    expect(stored.map(({ data }) => JSON.parse(data).failed)).toEqual([25, 5]);
    await toldOperator(customer.id, 'delivery.failed');
  });

  it('import.failed', async () => {
    const customer = await newCustomer('/failed-import');
    const entries = Array.from(
      { length: 5_000 },
      (_, at): TestEntry => ({ day: (at % 28) + 1, amount: at + 1 }),
    );
    const whole = gzipSync(mt940(entries));
    const { body } = await service.call('POST', '/v1/imports', {
      key: customer.key,
      body: whole.subarray(0, whole.length - 500),
      type: 'application/octet-stream',
    });
    const [stored] = await until('failed', async () => {
      const events = await storedEvents(service, customer.id, 'import.failed');
      return events.length > 0 && events;
    });
    await report();
    const { data } = await customer.subscription.next('import.failed');
    expect(data).toEqual(JSON.parse(stored?.data ?? ''));
    const { body: shown } = await service.call('GET', `/v1/imports/${body.import.id}`, { key: customer.key });
    expect(shown.import.status).toBe('failed');
    expect(data.import).toMatchObject({ id: shown.import.id, error: shown.import.error, source_id: null });
    await toldOperator(customer.id, 'import.failed');
  });

  it('source.failing, with the third failure in a row', async () => {
    const source = await createTestSource(service, {
      // biome-ignore lint/correctness/useYield: a source that fails yields nothing.
      async *files() {
        throw new Error('The bank does not answer.');
      },
    });
    const subscription = await subscribeToEvents(service, receiver, source.key, '/failing-source');
    const { customer_id } = (await source.row()) as { customer_id: string };
    for (const expected of [0, 0, 1, 1, 1]) {
      await source.isDue();
      await source.run();
      expect(await storedEvents(service, customer_id, 'source.failing')).toHaveLength(expected);
    }
    await report();
    const { data } = await subscription.next('source.failing');
    expect(data).toMatchObject({
      source: { id: Number(source.id), title: 'Deneme', kind: 'test' },
      consecutive_failures: 3,
      next_run_at: expect.stringMatching(/Z$/),
    });
    await toldOperator(customer_id, 'source.failing');
  });
});

describe('deliveries of events', () => {
  it('are shown, replayed and sent again like those of movements', async () => {
    const customer = await newCustomer('/shown');
    const { key, subscription } = customer;
    await service.call('PATCH', `/v1/webhooks/${subscription.id}`, { key, body: { status: 'paused' } });
    await recordEvent(service.runtime.database, { type: 'import.failed', customerId: customer.id, data: {} });
    await report();

    const list = async (query = '') =>
      (await service.call('GET', `/v1/webhooks/${subscription.id}/deliveries${query}`, { key })).body
        .deliveries;
    const [pending] = await list();
    expect(pending).toMatchObject({ status: 'pending', attempts: 0, transaction_id: null });
    expect(pending.id).toBe(`${subscription.id}-${pending.event_id}`);
    expect(await list('?status=pending')).toEqual([pending]);
    expect(await list('?status=delivered')).toEqual([]);
    expect(await list(`?account=${customer.account}`)).toEqual([]);
    expect(await list(`?movement=${pending.event_id}`)).toEqual([]);
    const deliveries = async () =>
      (await service.call('GET', `/v1/webhooks/${subscription.id}`, { key })).body.webhook.deliveries;
    expect(await deliveries()).toEqual({ pending: 1, delivered: 0, failed: 0 });

    await service.call('PATCH', `/v1/webhooks/${subscription.id}`, { key, body: { status: 'active' } });
    const { id } = await subscription.next('import.failed');
    const read = async () =>
      (await service.call('GET', `/v1/deliveries/${pending.id}`, { key })).body.delivery;
    await until('delivered', async () => (await read()).status === 'delivered');
    expect(await read()).toMatchObject({
      attempts: 1,
      log: [{ number: 1, outcome: 'delivered' }],
      due_at: null,
    });
    expect(await deliveries()).toEqual({ pending: 0, delivered: 1, failed: 0 });
    expect(await list('?status=delivered&since=2026-01-01 00:00:00')).toHaveLength(1);
    expect(await list('?until=2026-01-01 00:00:00')).toEqual([]);

    await service.call('POST', `/v1/deliveries/${pending.id}/redeliver`, { key });
    await until('sent again', () => subscription.events().length === 2);
    await until('recorded', async () => (await read()).attempts === 2);
    const replay = { since: '2026-01-01 00:00:00', status: 'delivered' };
    const { body } = await service.call('POST', `/v1/webhooks/${subscription.id}/replay`, {
      key,
      body: replay,
    });
    expect(body.replay.matched).toBe(1);
    await until('replayed', () => subscription.events().length === 3);
    expect(new Set(subscription.events().map((it) => it.id))).toEqual(new Set([id]));
  });

  it('are seen by their customer alone', async () => {
    const customer = await newCustomer('/alone');
    const other = await newCustomer('/other');
    receiver.answer('/gone', (_, response) => response.writeHead(410).end());
    await subscribe(service, customer.key, `${receiver.url}/gone`);
    await importMovements(service, customer.key, [movement(customer.account)]);
    await until('disabled', async () => (await storedEvents(service, customer.id, 'webhook.disabled'))[0]);
    await report();
    const { id } = await customer.subscription.next('webhook.disabled');
    const delivery = id.replace('msg_', '');
    const event = delivery.split('-')[1];
    for (const wrong of [delivery, `${other.subscription.id}-${event}`]) {
      const { status } = await service.call('GET', `/v1/deliveries/${wrong}`, { key: other.key });
      expect(status, wrong).toBe(404);
    }
    expect(other.subscription.events()).toEqual([]);
    const { status } = await service.call('GET', `/v1/deliveries/${delivery}`, { key: customer.key });
    expect(status).toBe(200);
  });

  it('never hold movements, and other webhooks never get events', async () => {
    const customer = await newCustomer('/events-only');
    const movements = await subscribe(service, customer.key, `${receiver.url}/movements-only`);
    const done = await importMovements(service, customer.key, [movement(customer.account)]);
    expect(done.deliveries).toBe(1);
    await until('received', () => receiver.at('/movements-only').length === 1);
    await setCursor(
      service,
      movements.id,
      'failing_since = NOW(6) - INTERVAL 61 HOUR, failing_days = 3, last_error = NULL',
    );
    await report();
    await customer.subscription.next('webhook.failing');
    expect(receiver.at('/movements-only')).toHaveLength(1);
    expect(receiver.at('/events-only')).toHaveLength(1);
  });

  it('begin with a test, if asked for', async () => {
    const { key, subscription } = await newCustomer('/test');
    const { status } = await service.call('POST', `/v1/webhooks/${subscription.id}/test`, { key });
    expect(status).toBe(202);
    const [received] = receiver.at('/test');
    expect(received?.headers['webhook-test']).toBe('true');
    expect(JSON.parse(received?.body ?? '')).toMatchObject({ type: 'webhook.test' });
  });
});

describe('a webhook for events', () => {
  it.each([
    ['POST', { account: '1' }, 'account'],
    ['POST', { encoding: 'form' }, 'encoding'],
    ['PATCH', { encoding: 'form' }, 'encoding'],
    ['PATCH', { event: 'NEW_TRANSACTION' }, 'event'],
  ])('%s %j is refused', async (method, fields, path) => {
    const { key, subscription } = await newCustomer(`/refused-${method}-${path}`);
    const body =
      method === 'PATCH'
        ? fields
        : { title: 'E', endpoint: receiver.url, event: 'OPERATIONAL', account: 'all', ...fields };
    const to = method === 'PATCH' ? `/v1/webhooks/${subscription.id}` : '/v1/webhooks';
    const answer = await service.call(method, to, { key, body });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ path }]);
  });

  it('cannot be made of one for movements', async () => {
    const { key, webhook } = await createSubscriber(service);
    const { status, body } = await service.call('PATCH', `/v1/webhooks/${webhook.id}`, {
      key,
      body: { event: 'OPERATIONAL' },
    });
    expect([status, body.errors?.[0]?.path]).toEqual([422, 'event']);
  });
});
