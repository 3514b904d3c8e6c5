import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import { pruneIdempotencyKeys } from '../../src/upkeep/retention/retention.ts';
import { createSteps } from '../../src/upkeep/retention/steps.ts';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { webhook } from '../support/webhooks.ts';

const service = useService({ roles: ['api'] });

const post = (key: string, path: string, idempotencyKey: string, body?: unknown) =>
  service.call('POST', path, { key, body, headers: { 'Idempotency-Key': idempotencyKey } });

const listWebhooks = async (key: string) =>
  (await service.call('GET', '/v1/webhooks', { key })).body.webhooks as { id: number }[];

describe('a POST with an Idempotency-Key', () => {
  it('is carried out once, however often it is sent, and each repetition gets the first response without its secret', async () => {
    const { api_key: key } = await service.customer();
    const name = randomUUID();
    const first = await post(key, '/v1/webhooks', name, webhook());
    const again = await post(key, '/v1/webhooks', name, webhook());
    expect(first.body.webhook.secret).toMatch(/^whsec_/);
    expect([again.status, again.body]).toEqual([200, { webhook: { ...first.body.webhook, secret: null } }]);
    expect(again.headers.get('cache-control')).toBe('no-store');
    expect(again.headers.get('ratelimit')).toMatch(/^"default";r=\d+;t=\d+$/);
    expect(again.headers.get('x-request-id')).toMatch(/./);
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect((await listWebhooks(key)).length).toBe(1);
    const rows = await service.runtime.database.query<object[]>('SELECT * FROM idempotency_keys');
    expect(JSON.stringify(rows)).not.toContain(first.body.webhook.secret);
  });

  it('does not show an API key or an API secret a second time', async () => {
    const { api_key: key } = await service.customer();
    const body = { title: 'ERP', account: 'all' };
    const made = await post(key, '/v1/apikeys', 'new-key', body);
    const { id } = made.body.apikey;
    expect((await post(key, '/v1/apikeys', 'new-key', body)).body).toEqual({ apikey: { id, apikey: null } });
    expect((await post(key, '/v1/settings/api/rotate', 'new-secret')).body.api_secret).toMatch(/./);
    expect((await post(key, '/v1/settings/api/rotate', 'new-secret')).body).toEqual({ api_secret: null });
  });

  it('is refused without the scope of the route, although its response is stored', async () => {
    const { api_key: key, customer } = await service.customer();
    const { apikey: reader } = await insertApiKey(service.runtime.database, {
      customerId: customer.id,
      title: 'Reader',
      accountIds: 'all',
      scopes: ['read'],
    });
    for (const [path, body] of [
      ['/v1/settings/api/rotate', undefined],
      ['/v1/webhooks', webhook()],
      ['/v1/accounts', { bank: 'Akbank', title: 'A', currency: 'TRY' }],
    ] as const) {
      const name = randomUUID();
      expect((await post(key, path, name, body)).status).toBe(200);
      expectProblem(await post(reader, path, name, body), 403, 'missing-scope');
    }
  });

  it('is carried out once when it is sent several times at the same moment', async () => {
    const { api_key: key } = await service.customer();
    const name = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(key, '/v1/webhooks', name, webhook())),
    );
    expect((await listWebhooks(key)).length).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectProblem(answer, 409);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
  });

  it('is refused when the key came with another request, and can be repeated after an error', async () => {
    const { api_key: key } = await service.customer();
    const name = randomUUID();
    expectProblem(await post(key, '/v1/webhooks', name, webhook({ event: 'NONE' })), 422);
    expect((await post(key, '/v1/webhooks', name, webhook())).status).toBe(200);
    const other = await post(key, '/v1/webhooks', name, webhook({ title: 'Another' }));
    expectProblem(other, 409, 'idempotency-key-reused');
    expectProblem(await post(key, '/v1/settings/api/rotate', name), 409, 'idempotency-key-reused');
    expect(expectProblem(await post(key, '/v1/accounts', 'x'.repeat(256), {}), 422)).toEqual([
      'Idempotency-Key',
    ]);
  });

  it('shares its keys neither with another customer nor, for a limited API key, with another API key', async () => {
    const [{ api_key: key, customer }, stranger] = [await service.customer(), await service.customer()];
    const { id: account } = await createAccount(service, key);
    const limited = await insertApiKey(service.runtime.database, {
      customerId: customer.id,
      title: 'Dar',
      accountIds: [account],
    });
    const name = randomUUID();
    const ids = [];
    for (const own of [key, stranger.api_key]) {
      ids.push((await post(own, '/v1/webhooks', name, webhook())).body.webhook.id);
    }
    const made = await post(limited.apikey, '/v1/webhooks', name, webhook({ account }));
    expect(new Set([...ids, made.body.webhook.id]).size).toBe(3);
  });

  it('may be sent again when its process died a minute ago, or after 24 hours', async () => {
    const { api_key: key } = await service.customer();
    const { database } = service.runtime;
    const name = randomUUID();
    await post(key, '/v1/webhooks', name, webhook());
    for (const past of [
      'status = NULL, response = NULL, created_at = NOW(6) - INTERVAL 2 MINUTE',
      'created_at = NOW(6) - INTERVAL 25 HOUR',
    ]) {
      await database.query(`UPDATE idempotency_keys SET ${past} WHERE idempotency_key = ?`, [name]);
      expect((await post(key, '/v1/webhooks', name, webhook())).status).toBe(200);
    }
    expect((await listWebhooks(key)).length).toBe(3);
    await database.query('UPDATE idempotency_keys SET created_at = NOW(6) - INTERVAL 25 HOUR');
    expect(await pruneIdempotencyKeys(database, createSteps({ pauses: false }))).toBeGreaterThan(0);
    expect(await database.query('SELECT 1 FROM idempotency_keys')).toEqual([]);
  });

  it('are all forgotten after 24 hours, however many there are', async () => {
    const { customer } = await service.customer();
    const { database } = service.runtime;
    const COUNT = 3_500;
    const rows = Array.from({ length: COUNT }, (_, n) => [
      ...[customer.id, `key ${n}`, Buffer.alloc(32)],
      new Date(Date.now() - 25 * 3_600_000),
    ]);
    await database.query(
      'INSERT INTO idempotency_keys (customer_id, idempotency_key, request_hash, created_at) VALUES ?',
      [rows],
    );
    expect(await pruneIdempotencyKeys(database, createSteps())).toBeGreaterThanOrEqual(COUNT);
    expect(
      await database.query('SELECT 1 FROM idempotency_keys WHERE created_at < NOW(6) - INTERVAL 24 HOUR'),
    ).toEqual([]);
  });
});
