import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createCustomer } from '../../src/customers/customers.ts';
import { createDataSource } from '../../src/database/data-source.ts';
import { migrate } from '../../src/database/migrate.ts';
import { readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { type EmbeddedServers, startEmbedded } from '../../src/servers/embedded.ts';
import { type Service, startService } from '../../src/service.ts';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

/** A MySQL of this file's own, which can be stopped, and a service on it. */
let dataDir: string;
let mysql: EmbeddedServers;
let service: Service;

const startMysql = () =>
  startEmbedded({ dataDir, mysql: true, redis: false, install: 'auto', announce: () => {} });

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'ledgerbell-away-'));
  mysql = await startMysql();
  const url = mysql.databaseUrl ?? '';
  const database = await createDataSource(url).initialize();
  await migrate(database);
  await database.destroy();
  service = await startService({
    config: readConfig({
      PORT: '0',
      DATABASE_URL: url,
      REDIS_URL: inject('redisUrl'),
      SECRET_KEY: randomBytes(32).toString('base64'),
    }),
    roles: ['api'],
    log: createLog('silent'),
    announce: () => {},
    prefix: `test-${randomBytes(6).toString('hex')}`,
  });
});

afterAll(async () => {
  await service?.stop();
  await mysql?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

it('the API answers 503 with Retry-After while MySQL is unreachable, and 200 again when it is back', async () => {
  const { api_key } = await createCustomer(service.runtime, 'Müşteri');
  const get = (path: string) => send(service.url + path, { headers: { Authentication: api_key } });
  expect((await get('/v1/accounts')).status).toBe(200);

  await mysql.stop();
  for (const path of ['/v1/accounts', '/v1/transactions?starts=2026-01-01', '/v1/webhooks/1']) {
    const answer = await get(path);
    expectProblem(answer, 503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(JSON.stringify(answer.body)).not.toMatch(/SELECT|sock|ECONN|ENOENT/);
  }
  const console = await send(`${service.opsUrl}/ops`, {});
  expect([console.status, console.body]).toEqual([200, expect.stringContaining('MySQL cannot be reached.')]);
  expectProblem(await send(`${service.opsUrl}/ops/webhooks`, {}), 503);
  const upload = await send(`${service.url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: api_key, 'Content-Type': 'application/x-ndjson' },
    body: ['{}\n'],
  });
  expectProblem(upload, 503);
  const small = await send(`${service.url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: api_key, 'Content-Type': 'application/json' },
    body: ['{ "transactions": [] }'],
  });
  expectProblem(small, 503);
  const ready = await get('/readyz');
  expect([ready.status, ready.body]).toEqual([
    503,
    { status: 'not ready', mysql: 'not available', redis: 'ok', migrations: 'not available' },
  ]);
  for (const url of [service.url, service.opsUrl]) {
    expect((await send(`${url}/healthz`, {})).status).toBe(200);
  }

  mysql = await startMysql();
  await until('the API answers again', async () => (await get('/v1/accounts')).status === 200);
  await until('it is ready', async () => (await get('/readyz')).status === 200);
});
