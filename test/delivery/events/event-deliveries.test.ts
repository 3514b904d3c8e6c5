import { beforeAll, describe, expect, it } from 'vitest';
import { recordEvent } from '../../../src/delivery/operational-event.ts';
import { reportEvents } from '../../../src/upkeep/worker.ts';
import { createAccount, importMovements, movement } from '../../support/movements.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useOwnService } from '../../support/service.ts';
import { createSubscriber, setCursor } from '../../support/subscriber.ts';
import { until } from '../../support/until.ts';
import { deliveriesOf, subscribe, useDeliveryWorkers } from '../../support/webhooks.ts';
import { storedEvents, subscribeToEvents } from './received-events.ts';

const receiver = useReceiver();
// No maintenance role: the tests look for events themselves.
const service = useOwnService({ because: 'it sets the next id', roles: ['api', 'importer'] });
const workers = useDeliveryWorkers(service);

const report = () => reportEvents(service.runtime);

async function newCustomer(path: string) {
  const { api_key: key, customer } = await service.customer(path);
  const account = await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  const subscription = await subscribeToEvents(service, receiver, key, path);
  return { key, id: customer.id, account: account.id, subscription };
}

beforeAll(() => {
  // The first failure is the last one.
  workers.start({ delays: [] });
});

describe('an event delivery', () => {
  it('is shown, replayed and sent again like that of a movement', async () => {
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
    expect(await deliveries()).toEqual({ pending: 1, delivered: 0, failed: 0, to_come: 0 });

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
    expect(await deliveries()).toEqual({ pending: 0, delivered: 1, failed: 0, to_come: 0 });
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

  it('is told apart from that of a movement with the same id', async () => {
    const customer = await newCustomer('/same-id');
    const { key, subscription } = customer;
    const movements = await subscribe(service, key, `${receiver.url}/same-id-movements`);
    // An id that no event has yet.
    await service.runtime.database.query('ALTER TABLE transactions AUTO_INCREMENT = 1000');
    await importMovements(service, key, [movement(customer.account)]);
    await until('received', () => receiver.at('/same-id-movements').length === 1);
    const [stored] = await service.runtime.database.query<{ id: string }[]>(
      'SELECT MAX(id) AS id FROM transactions',
    );
    const id = stored?.id ?? '';
    await service.runtime.database.query(
      "INSERT INTO operational_events (id, customer_id, type, data) VALUES (?, ?, 'import.failed', '{}')",
      [id, customer.id],
    );
    await report();
    await subscription.next('import.failed');

    const ofMovement = `${movements.id}-${id}`;
    const ofEvent = `${subscription.id}-${id}`;
    const show = async (path: string) => (await service.call('GET', path, { key })).body;
    await until(
      'recorded',
      async () => (await show(`/v1/deliveries/${ofEvent}`)).delivery.status === 'delivered',
    );
    expect((await show(`/v1/deliveries/${ofEvent}`)).delivery).toMatchObject({
      transaction_id: null,
      event_id: Number(id),
    });
    expect((await show(`/v1/deliveries/${ofMovement}`)).delivery).toMatchObject({
      transaction_id: Number(id),
      event_id: null,
    });
    const { deliveries } = await show(`/v1/transactions/${id}/deliveries`);
    expect(deliveries.map((it: { id: string }) => it.id)).toEqual([ofMovement]);
    expect((await show(`/v1/webhooks/${subscription.id}/deliveries`)).deliveries).toMatchObject([
      { id: ofEvent, event_id: Number(id) },
    ]);
  });

  it('is seen by its customer alone', async () => {
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

  it('never holds a movement, and webhooks for movements never get events', async () => {
    const customer = await newCustomer('/events-only');
    const movements = await subscribe(service, customer.key, `${receiver.url}/movements-only`);
    const done = await importMovements(service, customer.key, [movement(customer.account)]);
    expect(done.deliveries).toBe(1);
    // Recording the delivery ends a failing time.
    await until(
      'recorded',
      async () => (await deliveriesOf(service, movements.id))[0]?.status === 'delivered',
    );
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

  it('is created as a test by POST /v1/webhooks/:id/test', async () => {
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
  ])('refuses %s %j', async (method, fields, path) => {
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

  it('cannot be made of a webhook for movements', async () => {
    const { key, webhook } = await createSubscriber(service);
    const { status, body } = await service.call('PATCH', `/v1/webhooks/${webhook.id}`, {
      key,
      body: { event: 'OPERATIONAL' },
    });
    expect([status, body.errors?.[0]?.path]).toEqual([422, 'event']);
  });
});
