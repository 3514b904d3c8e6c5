import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDataSource } from '../src/database/data-source.ts';
import { type EmbeddedServers, startEmbedded } from '../src/servers/embedded.ts';
import { documentOf, type Finished, runHere } from './cli/command.ts';
import { findLeaks } from './durability/leaks.ts';
import { MARKER } from './durability/load/movements.ts';
import {
  ACCOUNT,
  ADMIN_PASSWORD,
  AUTHORIZATION,
  accountData,
  brokenRequests,
  failingRequests,
  findInTables,
  IBAN,
  movements,
  SECRET_KEY,
  secrets,
  wrongSettings,
} from './secrets.ts';
import { movement } from './support/movements.ts';
import { type ServiceProcess, startServiceProcess } from './support/process.ts';
import { sendBytes } from './support/raw-http.ts';
import { useReceiver } from './support/receiver.ts';
import { until } from './support/until.ts';
import { webhook } from './support/webhooks.ts';

const receiver = useReceiver();
let directory: string;
let servers: EmbeddedServers;
let database: DataSource;
let env: Record<string, string>;
let service: ServiceProcess;
let key: string;
let accountId: string;

/** Every error answer, with its request. */
const errors: { request: string; answer: string }[] = [];
/** The output of processes and commands, without the secrets that they must show once. */
const said: string[] = [];

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const url = await (path === '/ops' ? service.opsUrl() : service.url());
  const response = await fetch(url + path, {
    method,
    headers: { Authentication: key, 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) {
    const answer = `${response.status} ${JSON.stringify([...response.headers])} ${text}`;
    errors.push({ request: `${method} ${path}`, answer });
  }
  return {
    status: response.status,
    body: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text,
  };
}

/** Keeps the output of a command that must fail. */
function keep({ code, stdout, stderr }: Finished): void {
  expect(code).toBe(1);
  said.push(stdout, stderr);
}

const pidOf = (server: string): number =>
  JSON.parse(readFileSync(join(directory, 'data', `${server}.json`), 'utf8')).pid;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-redaction-'));
  const dataDir = join(directory, 'data');
  mkdirSync(join(directory, 'logs'));
  servers = await startEmbedded({ dataDir, mysql: true, redis: true, install: 'auto', announce: () => {} });
  const { databaseUrl = '', redisUrl = '' } = servers;
  secrets.set(new URL(databaseUrl).password, 'the password of MySQL');
  secrets.set(new URL(redisUrl).password, 'the password of Redis');
  env = {
    DATA_DIR: join(directory, 'service'),
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    SECRET_KEY,
    ADMIN_USER: 'ops',
    ADMIN_PASSWORD,
    LOG_LEVEL: 'trace',
  };
  documentOf(await runHere(['migrate', '--json'], env));
  service = startServiceProcess(env);
  await service.url();
  const made = documentOf(await runHere(['customers', 'create', '--name', 'Müşteri', '--json'], env));
  key = made.api_key;
  secrets.set(key, 'an API key').set(made.api_secret, 'an API secret');
  database = await createDataSource(databaseUrl).initialize();
  accountId = (await call('POST', '/v1/accounts', ACCOUNT)).body.account.id;
});

afterAll(async () => {
  if (service?.child.exitCode === null && service.child.signalCode === null) await service.end('SIGTERM');
  if (database?.isInitialized) await database.destroy();
  await servers?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Causes every error of the API, each with a secret or account data in its request. */
async function makeRequestsFail(): Promise<void> {
  for (const request of failingRequests(key, accountId)) await call(...request);
  for (const headers of [
    { Authentication: `${key}x` },
    { Authentication: '', Authorization: `Basic ${btoa(`ops:${ADMIN_PASSWORD}`)}` },
  ]) {
    await call('GET', '/v1/accounts', undefined, headers);
  }
  await call('GET', '/ops', undefined, { Authorization: `Basic ${btoa(`${ADMIN_PASSWORD}:ops`)}` });
  await call('GET', '/problems/none');
  for (const bytes of brokenRequests(key)) {
    errors.push({ request: 'bytes', answer: await sendBytes(await service.url(), bytes) });
  }
  const ndjson = [`{ "description": "${MARKER}`, JSON.stringify(movement(accountId, { amount: IBAN }))];
  const rows = await call('POST', '/v1/imports', ndjson.join('\n'), {
    'Content-Type': 'application/x-ndjson',
  });
  const faults = await until('the faults of the rows', async () => {
    const { body } = await call('GET', `/v1/imports/${rows.body.import.id}/errors`);
    return body.errors.length > 1 && body;
  });
  errors.push({ request: 'GET /v1/imports/:id/errors', answer: JSON.stringify(faults) });
}

/** Notifications to an endpoint that fails and gives back all that it was sent, and to one without TLS. */
async function makeDeliveriesFail(): Promise<void> {
  receiver.answer('/echo', ({ headers, body }, response) => {
    response.statusCode = 500;
    response.end(JSON.stringify(headers) + body);
  });
  const headers = { Authorization: `Bearer ${AUTHORIZATION}` };
  for (const endpoint of [`${receiver.url}/echo`, `${receiver.url.replace('http', 'https')}/tls`]) {
    const { body } = await call('POST', '/v1/webhooks', webhook({ endpoint, headers }));
    secrets.set(body.webhook.secret.replace('whsec_', ''), 'a webhook secret');
    const rotated = await call('POST', `/v1/webhooks/${body.webhook.id}/rotate-secret`);
    secrets.set(rotated.body.webhook.secret.replace('whsec_', ''), 'a rotated webhook secret');
    const sample = await call('POST', `/v1/webhooks/${body.webhook.id}/test`);
    errors.push({ request: 'a sample', answer: JSON.stringify(sample.body) });
  }
  const { body } = await call('POST', '/v1/settings/api/rotate');
  secrets.set(body.api_secret, 'a rotated API secret');
  await call('POST', '/v1/imports', movements(accountId, 3, 'echoed'));
  await until('attempts of both', async () => {
    const [row] = await database.query<{ n: string }[]>(
      "SELECT COUNT(DISTINCT webhook_id) AS n FROM attempts WHERE outcome = 'failed'",
    );
    return row?.n === '2';
  });
}

/** Requests under way while both servers are killed, and requests while they are unreachable. */
async function loseServers(): Promise<void> {
  const underWay = Array.from({ length: 12 }, (_, i) =>
    Promise.all([
      call('POST', '/v1/imports', movements(accountId, 300, `lost${i}-`)),
      call('POST', '/v1/webhooks', webhook({ headers: { Authorization: AUTHORIZATION }, status: undefined })),
      call('POST', '/v1/settings/api/rotate'),
    ]),
  );
  for (const server of ['mysql', 'redis']) process.kill(pidOf(server), 'SIGKILL');
  for (const answers of await Promise.all(underWay)) {
    for (const { body } of answers) {
      if (body.api_secret !== undefined) secrets.set(body.api_secret, 'a rotated API secret');
      if (body.webhook !== undefined)
        secrets.set(body.webhook.secret.replace('whsec_', ''), 'a webhook secret');
    }
  }
  for (const path of ['/v1/accounts', '/v1/transactions?starts=2026-01-01', '/readyz', '/ops']) {
    await call('GET', path);
  }
  await until(
    'everything is back',
    async () => (await fetch(`${await service.url()}/readyz`)).status === 200,
    60_000,
  );
}

/** A schema that is not ours, so that statements fail with messages that quote their values: 500, and jobs that break off. */
async function breakSchema(): Promise<void> {
  await until('nothing under way', async () => {
    const { body } = await call('GET', '/v1/imports');
    return body.imports.every(({ status }: { status: string }) => status === 'done');
  });
  await database.query('DELETE FROM transactions');
  await database.query('UPDATE accounts SET iban = NULL');
  await database.query('ALTER TABLE accounts MODIFY iban INT NULL');
  await database.query('ALTER TABLE transactions MODIFY description INT NULL');
  expect((await call('POST', '/v1/accounts', ACCOUNT)).status).toBe(500);
  await call('POST', '/v1/imports', movements(accountId, 1, 'broken'));
  await until('a job that broke off', () => /job interrupted/.test(service.said));
}

/** Commands and starts that are refused. */
async function makeCommandsFail(): Promise<void> {
  const url = await service.url();
  const file = join(directory, 'statement.json');
  writeFileSync(file, JSON.stringify(movements(accountId, 1, 'file')));
  const withPassword = `http://ops:${ADMIN_PASSWORD}@127.0.0.1:1/`;
  keep(await runHere(['import', file, '--key', `${key}x`, '--url', url], env));
  keep(await runHere(['import', file, '--key', key, '--url', withPassword], env));
  keep(await runHere(['import', file, '--key', `${key} ${key}`, '--url', url], env));
  keep(await runHere(['import', file, '--key', key, `--kye=${key}`], env));
  keep(await runHere(['listen', '--secret', key], env));
  for (const wrong of wrongSettings(env)) {
    keep(await runHere(['skip-ids'], { ...env, ...wrong }));
  }
}

it('the service shows no secret and no content of movements, wherever something fails', async () => {
  await makeRequestsFail();
  await makeDeliveriesFail();
  await makeCommandsFail();
  await loseServers();
  await breakSchema();
  expect(await service.end('SIGTERM')).toBe(0);

  const statuses = new Set(errors.map(({ answer }) => answer.slice(0, 3)));
  for (const status of ['400', '401', '404', '405', '415', '422', '500', '503']) {
    expect(statuses).toContain(status);
  }
  said.push(service.said);
  // Both messages were given what is searched for, and left it out.
  for (const what of ['request failed', 'job interrupted']) {
    expect(service.said).toMatch(new RegExp(`Incorrect integer value: '…'.*"msg":"${what}`));
  }

  const leaks: string[] = [];
  const everything = new Map([...secrets, ...accountData]);
  for (const [needle, name] of everything) {
    for (const { request, answer } of errors) {
      if (answer.includes(needle)) leaks.push(`${name} in the answer to ${request}`);
    }
    if (said.some((text) => text.includes(needle))) leaks.push(`${name} in what a process wrote`);
  }
  // The files of the servers themselves, and all of Redis, from its files.
  for (const name of ['mysql.log', 'redis.log']) {
    copyFileSync(join(directory, 'data', name), join(directory, 'logs', name));
  }
  leaks.push(
    ...(await findLeaks({ directory, redis: { url: env.REDIS_URL ?? '' }, secrets: everything })),
    ...(await findInTables(database, secrets)),
  );
  expect([...new Set(leaks)]).toEqual([]);
});
