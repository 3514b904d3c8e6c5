import { describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe, webhook } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer', 'delivery'] });
const receiver = useReceiver();

const change = (key: string, id: string, body: unknown) =>
  service.call('PATCH', `/v1/webhooks/${id}`, { key, body });

const rowOf = async (id: string) => {
  const [row] = await service.runtime.database.query<Record<string, unknown>[]>(
    `SELECT w.*, c.consecutive_failures, c.failing_since, c.circuit_openings, c.circuit_open_until
     FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id WHERE w.id = ?`,
    [id],
  );
  return row ?? {};
};

describe('PATCH /v1/webhooks/:id', () => {
  it('changes any field, leaves the others, and shows no secret', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const { secret, ...made } = await subscribe(service, key, 'http://127.0.0.1:9/before');
    for (const fields of [
      { title: 'Yeni' },
      { description: 'Muhasebe için' },
      { description: null },
      { endpoint: 'http://127.0.0.1:9/after' },
      { events: ['NEW_TRANSACTION', 'WITHDRAWN_TRANSACTION'] },
      { account: Number(account.id) },
      { body: 'extended' },
      { body: 'standard' },
      { encoding: 'form' },
      { hash_encoding: 'raw' },
      { ordered: true },
      { rate_limit: 5 },
      { max_in_flight: 3 },
      { status: 'paused' },
      { account: 'all', rate_limit: null, ordered: false },
    ]) {
      const before = await service.call('GET', `/v1/webhooks/${made.id}`, { key });
      const answer = await change(key, made.id, fields);
      expect([answer.status, answer.body]).toEqual([200, { webhook: { ...before.body.webhook, ...fields } }]);
      expect((await service.call('GET', `/v1/webhooks/${made.id}`, { key })).body).toEqual(answer.body);
    }
    expect((await change(key, made.id, { headers: { 'X-Token': 'MARKER' } })).status).toBe(200);
    const row = await rowOf(made.id);
    expect(row.headers).toEqual(expect.stringMatching(/./));
    expect(JSON.stringify(row)).not.toContain('MARKER');
    expect((await change(key, made.id, { headers: {} })).status).toBe(200);
    expect((await rowOf(made.id)).headers).toBeNull();
    expect(row.secret).toEqual((await rowOf(made.id)).secret);
  });

  it('replaces both event and events by either, and shows both', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/');
    for (const [fields, event, events] of [
      [{ event: 'WITHDRAWN_TRANSACTION' }, 'WITHDRAWN_TRANSACTION', ['WITHDRAWN_TRANSACTION']],
      [
        { events: ['WITHDRAWN_TRANSACTION', 'NEW_CREDIT'] },
        'NEW_CREDIT',
        ['NEW_CREDIT', 'WITHDRAWN_TRANSACTION'],
      ],
      [{ title: 'Yeni' }, 'NEW_CREDIT', ['NEW_CREDIT', 'WITHDRAWN_TRANSACTION']],
      [{ event: 'NEW_DEBIT' }, 'NEW_DEBIT', ['NEW_DEBIT']],
      [{ events: ['NEW_TRANSACTION'] }, 'NEW_TRANSACTION', ['NEW_TRANSACTION']],
    ] as const) {
      const { status, body } = await change(key, id, fields);
      expect([status, body.webhook?.event, body.webhook?.events]).toEqual([200, event, events]);
    }
    const both = { event: 'NEW_DEBIT', events: ['NEW_DEBIT'] };
    expect(expectProblem(await change(key, id, both), 422)).toEqual(['events']);
    for (const [path, fields] of [
      ['event', { event: 'OPERATIONAL' }],
      ['events', { events: ['OPERATIONAL'] }],
    ] as const)
      expect(expectProblem(await change(key, id, fields), 422)).toEqual([path]);
  });

  it('requires the custom headers again with a new endpoint, so that no other endpoint gets them', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/one', {
      headers: { 'X-Token': 'secret' },
    });
    expect(expectProblem(await change(key, id, { endpoint: 'http://127.0.0.1:10/one' }), 422)).toEqual([
      'headers',
    ]);
    expect((await rowOf(id)).endpoint).toBe('http://127.0.0.1:9/one');
    expect((await change(key, id, { endpoint: 'http://127.0.0.1:9/one', title: 'Same' })).status).toBe(200);
    expect((await change(key, id, { endpoint: 'http://127.0.0.1:10/one', headers: {} })).status).toBe(200);
    expect((await change(key, id, { endpoint: 'http://127.0.0.1:11/one' })).status).toBe(200);
  });

  it.each([
    [{}, ''],
    [{ titel: 'x' }, 'titel'],
    [{ title: ' ' }, 'title'],
    [{ description: 'x'.repeat(501) }, 'description'],
    [{ endpoint: 'ftp://example.com' }, 'endpoint'],
    [{ endpoint: 'http://10.0.0.1/' }, 'endpoint'],
    [{ event: 'NEW' }, 'event'],
    [{ account: '999999' }, 'account'],
    [{ encoding: null }, 'encoding'],
    [{ status: 'disabled' }, 'status'],
    [{ status: 'deleted' }, 'status'],
    [{ max_in_flight: 0 }, 'max_in_flight'],
    [{ headers: { Host: 'x' } }, 'headers.Host'],
    [{ secret: 'whsec_x' }, 'secret'],
    [{ title: 'changed', rate_limit: 0 }, 'rate_limit'],
  ])('refuses %j and changes nothing', async (body, path) => {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/');
    const before = await rowOf(id);
    expect(expectProblem(await change(key, id, body), 422)).toEqual([path]);
    expect(await rowOf(id)).toEqual(before);
  });

  it("refuses another customer's account, and answers 404 for a deleted webhook", async () => {
    const [{ api_key: key }, other] = [await service.customer(), await service.customer()];
    const foreign = await createAccount(service, other.api_key);
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/');
    expect(expectProblem(await change(key, id, { account: foreign.id }), 422)).toEqual(['account']);
    await service.call('DELETE', `/v1/webhooks/${id}`, { key });
    expectProblem(await change(key, id, { status: 'active' }), 404);
    expect((await rowOf(id)).status).toBe('deleted');
  });

  it('pauses the webhook, and its pending deliveries go to the new endpoint when it is active again', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const { id } = await subscribe(service, key, `${receiver.url}/paused`);
    await change(key, id, { status: 'paused' });
    expect((await importMovements(service, key, [movement(account.id)])).deliveries).toBe(1);
    await change(key, id, { endpoint: `${receiver.url}/moved`, headers: { 'X-Token': 'new' } });
    expect((await deliveriesOf(service, id)).map(({ status }) => status)).toEqual(['pending']);

    expect((await change(key, id, { status: 'active' })).body.webhook.status).toBe('active');
    const [received] = await until('a POST to the new endpoint', () => {
      const posts = receiver.at('/moved');
      return posts.length > 0 && posts;
    });
    expect(received?.headers['x-token']).toBe('new');
    expect(receiver.at('/paused')).toEqual([]);
  });

  it('enables a disabled webhook again, and resets the failures that led to it', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    receiver.answer('/gone', (_, response) => response.writeHead(410).end());
    const { id } = await subscribe(service, key, `${receiver.url}/gone`);
    await importMovements(service, key, [movement(account.id)]);
    await until('disabled', async () => (await rowOf(id)).status === 'disabled');
    const missed = await importMovements(service, key, [movement(account.id, { unique_id: 'missed' })]);
    expect(missed.deliveries).toBe(0);
    receiver.answer('/gone', (_, response) => response.end('back'));

    const { body } = await change(key, id, { status: 'active' });
    expect(body.webhook).toMatchObject({ status: 'active', status_reason: null });
    const [delivery] = await deliveriesOf(service, id);
    // Its next attempt is due in a while: it is asked for.
    await service.call('POST', `/v1/deliveries/${delivery?.id}/redeliver`, { key });
    await until('delivered', async () => (await deliveriesOf(service, id))[0]?.status === 'delivered');
    expect(await deliveriesOf(service, id)).toHaveLength(1);
    expect(await rowOf(id)).toMatchObject({
      status: 'active',
      consecutive_failures: 0,
      failing_since: null,
      circuit_openings: 0,
      circuit_open_until: null,
    });
  });

  it('refuses another content type, and a body that is no object', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/');
    expectProblem(
      await service.call('PATCH', `/v1/webhooks/${id}`, { key, body: webhook(), type: 'text/plain' }),
      415,
    );
    expectProblem(await change(key, id, '{'), 400);
    expectProblem(await change(key, id, '[]'), 422);
  });
});
