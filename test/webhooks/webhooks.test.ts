import { describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem, withoutRequestId } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber, setCursor } from '../support/subscriber.ts';
import { deliveriesOf, webhook } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });

const create = async (key: string, fields: object = {}) => {
  const { status, body } = await service.call('POST', '/v1/webhooks', { key, body: webhook(fields) });
  expect(status).toBe(200);
  return body.webhook;
};

describe('webhooks', () => {
  it('are created with the four fields, and show their secret once', async () => {
    const { api_key: key } = await service.customer();
    const made = await create(key);
    expect(made).toEqual({
      id: expect.any(Number),
      title: 'Muhasebe',
      description: null,
      delivery: 'push',
      endpoint: 'http://127.0.0.1:9/hook',
      event: 'NEW_TRANSACTION',
      events: ['NEW_TRANSACTION'],
      account: 'all',
      status: 'active',
      status_reason: null,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/),
      encoding: 'json',
      body: 'standard',
      hash_encoding: 'hex',
      ordered: false,
      rate_limit: null,
      max_in_flight: 16,
      batch: null,
      header_names: [],
      health: {
        circuit: 'closed',
        open_until: null,
        consecutive_failures: 0,
        failing_since: null,
        last_error: null,
      },
      feed: null,
      deliveries: { pending: 0, delivered: 0, failed: 0, to_come: 0 },
      standing: [],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const { secret, ...shown } = made;
    expect((await service.call('GET', `/v1/webhooks/${made.id}`, { key })).body).toEqual({ webhook: shown });
    const list = await service.call('GET', '/v1/webhooks', { key });
    expect(list.body).toEqual({ webhooks: [shown] });
    const [row] = await service.runtime.database.query<object[]>('SELECT * FROM webhooks WHERE id = ?', [
      made.id,
    ]);
    expect(JSON.stringify(row)).not.toContain(secret);
  });

  it('keep every option, and their custom headers are sealed and never shown', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const options = {
      description: `For the books: ${'ğ'.repeat(485)}`,
      event: 'NEW_DEBIT',
      encoding: 'form',
      hash_encoding: 'raw',
      ordered: true,
      rate_limit: 10_000,
      max_in_flight: 64,
    };
    const headers = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`X-Token-${i}`, `MARKER ${i}`]));
    const made = await create(key, { ...options, account: Number(account.id), headers });
    expect(made).toMatchObject({
      ...options,
      account: Number(account.id),
      header_names: Object.keys(headers),
    });
    expect(made).not.toHaveProperty('headers');
    const [row] = await service.runtime.database.query<object[]>('SELECT * FROM webhooks WHERE id = ?', [
      made.id,
    ]);
    expect(JSON.stringify(row)).not.toContain('MARKER');
  });

  it.each(['', ' \n ', null, undefined])('have no description when it is %j', async (description) => {
    const { api_key: key } = await service.customer();
    expect((await create(key, { description })).description).toBeNull();
  });

  it('accept the account as a string or as an integer', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key);
    expect((await create(key, { account: id })).account).toBe(Number(id));
    expect((await create(key, { account: Number(id) })).account).toBe(Number(id));
  });

  it('are deleted with their pending deliveries, and are then like webhooks that never existed', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const gone = await create(key);
    const kept = await create(key);
    expect((await importMovements(service, key, [movement(account.id)])).deliveries).toBe(2);

    const answer = await service.call('DELETE', `/v1/webhooks/${gone.id}`, { key });
    expect([answer.status, answer.body]).toEqual([200, { status: 'success' }]);
    const statuses = [];
    for (const { id } of [gone, kept]) {
      const [delivery] = await deliveriesOf(service, id);
      const shown = await service.call('GET', `/v1/deliveries/${delivery?.id}`, { key });
      statuses.push(shown.body.delivery.status);
    }
    expect(statuses).toEqual(['cancelled', 'pending']);

    const never = withoutRequestId(await service.call('GET', '/v1/webhooks/999999', { key }));
    for (const method of ['GET', 'DELETE']) {
      const again = await service.call(method, `/v1/webhooks/${gone.id}`, { key });
      expectProblem(again, 404);
      expect(withoutRequestId(again)).toEqual(never);
    }
    const list = await service.call('GET', '/v1/webhooks', { key });
    expect(list.body.webhooks.map(({ id }: { id: string }) => id)).toEqual([kept.id]);
    const later = await importMovements(service, key, [movement(account.id, { unique_id: 'later' })]);
    expect(later.deliveries).toBe(1);
  });
});

describe('the view of a webhook', () => {
  it('shows how its endpoint has been answering, and its deliveries by status', async () => {
    const { key, webhook, customerId, store } = await createSubscriber(service);
    const [first = '', second = ''] = await store(3);
    await recordDeliveries(service.runtime.database, { id: webhook.id, customerId }, [
      { transactionId: first, status: 'delivered' },
      { transactionId: second, status: 'failed' },
    ]);
    const openUntil = new Date(Date.now() + 600_000).toISOString();
    await setCursor(
      service,
      webhook.id,
      `consecutive_failures = 4, failing_since = '2026-03-01', circuit_openings = 2,
       circuit_open_until = '${openUntil.replace(/[TZ]/g, ' ')}', last_error = 'answered 503'`,
    );
    const show = async () => (await service.call('GET', `/v1/webhooks/${webhook.id}`, { key })).body.webhook;
    expect(await show()).toMatchObject({
      health: {
        circuit: 'open',
        open_until: openUntil,
        consecutive_failures: 4,
        failing_since: '2026-03-01T00:00:00.000Z',
        last_error: 'answered 503',
      },
      deliveries: { pending: 1, delivered: 1, failed: 1 },
    });
    await setCursor(service, webhook.id, "circuit_open_until = '2020-01-01'");
    expect((await show()).health).toMatchObject({ circuit: 'half_open', open_until: null });
  });
});
