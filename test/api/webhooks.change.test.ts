import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../src/database/customers.ts';
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
    `SELECT w.*, p.tries, p.consecutive_failures, p.failing_since, p.pauses, p.paused_until, p.in_flight_limit, p.last_error
     FROM webhooks w JOIN pumps p ON p.webhook_id = w.id WHERE w.id = ?`,
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
      { endpoint: 'http://127.0.0.1:9/after' },
      { event: 'NEW_DEBIT' },
      { account: account.id },
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

  it.each([
    [{}, ''],
    [{ titel: 'x' }, 'titel'],
    [{ title: ' ' }, 'title'],
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

  it("takes no account of another customer's, and finds no webhook that is deleted", async () => {
    const [{ api_key: key }, other] = [await service.customer(), await service.customer()];
    const foreign = await createAccount(service, other.api_key);
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/');
    expect(expectProblem(await change(key, id, { account: foreign.id }), 422)).toEqual(['account']);
    await service.call('DELETE', `/v1/webhooks/${id}`, { key });
    expectProblem(await change(key, id, { status: 'active' }), 404);
    expect((await rowOf(id)).status).toBe('deleted');
  });

  it('pauses with what is owed kept, and goes on at the new endpoint when active', async () => {
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

  it('brings a disabled webhook back, and forgets the failures that led there', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    receiver.answer('/gone', (_, response) => response.writeHead(410).end());
    const { id } = await subscribe(service, key, `${receiver.url}/gone`);
    await importMovements(service, key, [movement(account.id)]);
    await until('disabled', async () => (await rowOf(id)).status === 'disabled');
    await until('the run is over', async () => {
      const [pump] = await service.runtime.database.query<{ lease_token: string | null }[]>(
        'SELECT lease_token FROM pumps WHERE webhook_id = ?',
        [id],
      );
      return pump?.lease_token === null;
    });
    await service.runtime.database.query(
      `UPDATE pumps SET consecutive_failures = 9, failing_since = NOW(6) - INTERVAL 6 DAY, pauses = 7,
         paused_until = NOW(6) + INTERVAL 1 HOUR, tries = 3, last_error = 'x', in_flight_limit = 1 WHERE webhook_id = ?`,
      [id],
    );
    await service.runtime.database.query('UPDATE deliveries SET due_at = NOW(6) WHERE webhook_id = ?', [id]);
    receiver.answer('/gone', (_, response) => response.end('back'));

    const { body } = await change(key, id, { status: 'active' });
    expect(body.webhook).toMatchObject({ status: 'active', status_reason: null });
    await until('delivered', async () => (await deliveriesOf(service, id))[0]?.status === 'delivered');
    expect(await rowOf(id)).toMatchObject({
      status: 'active',
      consecutive_failures: 0,
      failing_since: null,
      pauses: 0,
      paused_until: null,
    });
  });

  it('resets every figure of the pump when it becomes active, and none otherwise', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/', {});
    await change(key, id, { status: 'paused' });
    await service.runtime.database.query(
      `UPDATE pumps SET consecutive_failures = 9, failing_since = '2026-01-01', pauses = 7, paused_until = '2030-01-01',
         tries = 3, last_error = 'x', in_flight_limit = NULL WHERE webhook_id = ?`,
      [id],
    );
    await change(key, id, { title: 'still paused' });
    expect(await rowOf(id)).toMatchObject({ consecutive_failures: 9, tries: 3, last_error: 'x' });
    await change(key, id, { status: 'active' });
    await until('the pump is at rest', async () => (await rowOf(id)).tries === 0);
    expect(await rowOf(id)).toMatchObject({
      consecutive_failures: 0,
      failing_since: null,
      pauses: 0,
      paused_until: null,
      last_error: null,
      in_flight_limit: 2,
    });
  });

  it('does not let a limited key lead movements of other accounts to an endpoint of its choice', async () => {
    const { api_key: whole, customer } = await service.customer();
    const seen = await createAccount(service, whole);
    const hidden = await createAccount(service, whole, { bank: 'Akbank' });
    const { apikey: limited } = await createApiKey(service.runtime.database, {
      customerId: customer.id,
      title: 'Dar',
      accountIds: [seen.id],
    });
    const { id } = await subscribe(service, whole, 'http://127.0.0.1:9/', { account: hidden.id });
    await change(whole, id, { status: 'paused' });
    await importMovements(service, whole, [movement(hidden.id)]);
    expectProblem(await change(limited, id, { title: 'mine' }), 404);
    await change(whole, id, { account: seen.id });

    expectProblem(await change(limited, id, { endpoint: `${receiver.url}/stolen` }), 403);
    expect((await rowOf(id)).endpoint).toBe('http://127.0.0.1:9/');
    expectProblem(await change(limited, id, { account: 'all' }), 403);
    expect((await change(limited, id, { title: 'mine' })).body.webhook.title).toBe('mine');
    await service.runtime.database.query(
      "UPDATE deliveries SET status = 'failed', due_at = NULL WHERE webhook_id = ?",
      [id],
    );
    expect((await change(limited, id, { endpoint: 'http://127.0.0.1:9/mine' })).status).toBe(200);
    const listed = await service.call('GET', `/v1/webhooks/${id}/deliveries`, { key: limited });
    expect(listed.body).toEqual({ deliveries: [] });
    const body = { since: '2000-01-01 00:00:00' };
    const replayed = await service.call('POST', `/v1/webhooks/${id}/replay`, { key: limited, body });
    expect(replayed.body).toEqual({ replayed: 0 });
    const all = await service.call('GET', `/v1/webhooks/${id}/deliveries`, { key: whole });
    expect(all.body.deliveries).toHaveLength(1);
    const path = `/v1/deliveries/${all.body.deliveries[0].id}`;
    expectProblem(await service.call('GET', path, { key: limited }), 404);
    expectProblem(await service.call('POST', `${path}/redeliver`, { key: limited }), 404);
    expect((await service.call('GET', path, { key: whole })).status).toBe(200);
  });

  it('is refused with another content type, and with a body that is no object', async () => {
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
