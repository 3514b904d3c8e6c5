import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { startApi } from '../../src/api/server.ts';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { redisOptions } from '../../src/platform/redis.ts';
import { expectProblem } from '../support/problem.ts';
import { startRedisRelay } from '../support/relay.ts';
import { type Answer, useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Ten requests in ten seconds. */
const service = useOwnService({ because: 'its limits are low', roles: ['api'], config: { rateLimit: 1 } });

/** A customer's key and the name of its count in Redis. */
async function newKey(): Promise<{ key: string; count: string }> {
  const { api_key: key, customer } = await service.customer();
  const [row] = await service.runtime.database.query<{ id: string }[]>(
    'SELECT id FROM api_keys WHERE customer_id = ?',
    [customer.id],
  );
  return { key, count: `${service.runtime.prefix}:rate:${row?.id}` };
}

/** Another process's API on the same MySQL and Redis. */
async function anotherApi({ rateLimit = 1, redis }: { rateLimit?: number; redis?: Redis } = {}) {
  const { runtime } = service;
  const config = { ...runtime.config, rateLimit };
  const api = await startApi(
    { ...runtime, config, redis: redis ?? runtime.redis },
    createStatementFormats([], READ_SETTINGS),
  );
  onTestFinished(() => api.stop());
  return async (key: string): Promise<number> => {
    const response = await fetch(`${api.url}/v1/banks`, { headers: { Authentication: key } });
    await response.text();
    return response.status;
  };
}

async function statuses(times: number, ask: () => Promise<{ status: number } | number>): Promise<number[]> {
  const answers: number[] = [];
  for (let i = 0; i < times; i += 1) {
    const answer = await ask();
    answers.push(typeof answer === 'number' ? answer : answer.status);
  }
  return answers;
}

const servedThenRefused = [...Array<number>(10).fill(200), 429];

it('the rate limit counts down with every answer, refuses requests beyond the limit, and serves again after Retry-After', async () => {
  const { key } = await newKey();
  const { api_key: other } = await service.customer();
  const call = (path: string, method = 'GET') => service.call(method, path, { key });
  const answers: Answer[] = [];
  for (let i = 0; i < 7; i += 1) answers.push(await call('/v1/banks'));
  answers.push(await call('/v1/webhooks/999'), await call('/v1/nothing'), await call('/v1/banks', 'PUT'));
  expect(answers.map(({ status }) => status)).toEqual([...Array(7).fill(200), 404, 404, 405]);
  for (const [i, { headers }] of answers.entries()) {
    expect(headers.get('ratelimit-policy')).toBe('"default";q=10;w=10');
    expect(headers.get('ratelimit')).toMatch(new RegExp(`^"default";r=${9 - i};t=([1-9]|10)$`));
  }

  const refused = await call('/v1/transactions');
  expectProblem(refused, 429);
  const wait = refused.headers.get('retry-after');
  expect(wait).toMatch(/^([1-9]|10)$/);
  expect(refused.body.detail).toContain(`${wait} s`);
  expect(refused.headers.get('ratelimit')).toBe(`"default";r=0;t=${wait}`);
  expect((await service.call('GET', '/v1/banks', { key: other })).status).toBe(200);
  expect((await service.call('GET', '/healthz')).headers.get('ratelimit')).toBeNull();

  const served = await until('served again', async () => {
    const answer = await call('/v1/banks');
    return answer.status === 200 ? answer : undefined;
  });
  expect(served.headers.get('ratelimit')).toMatch(/^"default";r=9;/);
});

it('the rate limit is shared by all processes on one Redis', async () => {
  const { key } = await newKey();
  const [one, two] = [await anotherApi({ rateLimit: 20 }), await anotherApi({ rateLimit: 20 })];
  expect(await statuses(200, () => one(key))).toEqual(Array(200).fill(200));
  let served = 0;
  await until('the other one refuses as well', async () => {
    const status = await two(key);
    if (status === 200) served += 1;
    return status === 429;
  });
  expect(served).toBeLessThan(200);
});

it('the rate limit is counted by each process while Redis is unreachable, and shared again afterwards', async () => {
  const [before, after] = [await newKey(), await newKey()];
  const { redis } = service.runtime;
  redis.disconnect();
  expect(await statuses(11, () => service.call('GET', '/v1/banks', { key: before.key }))).toEqual(
    servedThenRefused,
  );
  await redis.connect();
  expect(await statuses(3, () => service.call('GET', '/v1/banks', { key: after.key }))).toEqual([
    200, 200, 200,
  ]);
  await until('all are told', async () => (await redis.get(after.count)) === '3');
});

it('the rate limit does not wait for a Redis that hangs', async () => {
  const { key } = await newKey();
  const relay = await startRedisRelay();
  const redis = new Redis({ ...redisOptions(relay.url), commandTimeout: 30_000 });
  onTestFinished(() => redis.disconnect());
  await redis.ping();
  const ask = await anotherApi({ redis });
  relay.hang(true);

  const ping = redis.ping().catch(() => 'gave up');
  const answers = await Promise.race([ping, statuses(11, () => ask(key))]);
  expect(answers).toEqual(servedThenRefused);
});

it("the rate limit does not block a key for longer when Redis's clock was set back", async () => {
  const { key, count } = await newKey();
  const { redis } = service.runtime;
  await redis.set(count, '10', 'EX', 3_600);
  expect((await service.call('GET', '/v1/banks', { key })).status).toBe(200);
  await until('the old count is gone', async () => (await redis.get(count)) === null);
  expect((await service.call('GET', '/v1/banks', { key })).status).toBe(200);
});

it('the rate limit is off with RATE_LIMIT=0', async () => {
  const { key, count } = await newKey();
  const ask = await anotherApi({ rateLimit: 0 });
  expect(await statuses(30, () => ask(key))).toEqual(Array(30).fill(200));
  expect(await service.runtime.redis.exists(count)).toBe(0);
});

it('the rate limit also counts the requests of all keys of a customer together', async () => {
  const { customer } = await service.customer();
  const keys = await Promise.all(
    Array.from({ length: 4 }, () =>
      insertApiKey(service.runtime.database, { customerId: customer.id, title: 'x', accountIds: 'all' }),
    ),
  );
  const answers: Answer[] = [];
  for (const { apikey } of keys)
    for (let i = 0; i < 9; i += 1) answers.push(await service.call('GET', '/v1/banks', { key: apikey }));
  expect(answers.map(({ status }) => status)).toEqual([...Array(30).fill(200), ...Array(6).fill(429)]);
  expectProblem(answers.at(-1) as Answer, 429, 'rate-limited');
  const { api_key: other } = await service.customer();
  expect((await service.call('GET', '/v1/banks', { key: other })).status).toBe(200);
});
