import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDataSource } from '../src/database/data-source.ts';
import { type EmbeddedServers, startEmbedded } from '../src/embedded/servers.ts';
import { documentOf, type Finished, runHere } from './cli/command.ts';
import { findLeaks } from './durability/leaks.ts';
import { MARKER } from './durability/load/movements.ts';
import { movement } from './support/movements.ts';
import { type ServiceProcess, startServiceProcess } from './support/process.ts';
import { sendBytes } from './support/raw-http.ts';
import { useReceiver } from './support/receiver.ts';
import { until } from './support/until.ts';
import { webhook } from './support/webhooks.ts';

/** Letters and digits that occur nowhere else, so that a leak can be found by searching. */
const secret = (name: string) => `${name}${randomBytes(8).toString('hex')}`;

const AUTHORIZATION = secret('subscriber');
const ADMIN_PASSWORD = secret('admin');
const SECRET_KEY = randomBytes(32).toString('base64');
const REFUSED_URL = `http://user:${secret('endpoint')}@127.0.0.1/`;
const IBAN = 'TR330006100519786457841326';

/** Texts to look for, with what they are: those that MySQL may hold in clear, because they are what it is for, apart. */
const secrets = new Map([
  [AUTHORIZATION, 'a custom header'],
  [ADMIN_PASSWORD, 'ADMIN_PASSWORD'],
  [SECRET_KEY, 'SECRET_KEY'],
  [new URL(REFUSED_URL).password, 'the password in a refused endpoint'],
]);
const accountData = new Map([
  [IBAN, 'an IBAN'],
  [MARKER, "a movement's description"],
]);

const receiver = useReceiver();
let directory: string;
let servers: EmbeddedServers;
let database: DataSource;
let env: Record<string, string>;
let service: ServiceProcess;
let key: string;
let accountId: string;

/** Every answer that was an error, with what it was an answer to. */
const errors: { request: string; answer: string }[] = [];
/** What processes and commands wrote, apart from what they are there to show once. */
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

/** A command that must fail; what it says is kept. */
function keep({ code, stdout, stderr }: Finished): void {
  expect(code).toBe(1);
  said.push(stdout, stderr);
}

const pidOf = (server: string): number =>
  JSON.parse(readFileSync(join(directory, 'data', `${server}.json`), 'utf8')).pid;

const movements = (count: number, prefix: string) => ({
  transactions: Array.from({ length: count }, (_, i) =>
    movement(accountId, { unique_id: `${prefix}${i}`, description: MARKER, opponent_iban: IBAN }),
  ),
});

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-redaction-'));
  const dataDir = join(directory, 'data');
  mkdirSync(join(directory, 'logs'));
  servers = await startEmbedded({ dataDir, mysql: true, redis: true, install: 'auto', announce: () => {} });
  const { databaseUrl = '', redisUrl = '' } = servers;
  secrets.set(new URL(databaseUrl).password, 'the password of MySQL');
  secrets.set(new URL(redisUrl).password, 'the password of Redis');
  env = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    SECRET_KEY,
    ADMIN_USER: 'ops',
    ADMIN_PASSWORD,
    LOG_LEVEL: 'trace',
  };
  documentOf(await runHere(['migrate', '--json'], env));
  const made = documentOf(await runHere(['customers', 'create', '--name', 'Müşteri', '--json'], env));
  key = made.api_key;
  secrets.set(key, 'an API key').set(made.api_secret, 'an API secret');
  database = await createDataSource(databaseUrl).initialize();
  service = startServiceProcess(env);
  const account = { bank: 'Akbank', title: 'Kasa', currency: 'TRY', iban: IBAN };
  accountId = (await call('POST', '/v1/accounts', account)).body.account.id;
});

afterAll(async () => {
  if (service?.child.exitCode === null && service.child.signalCode === null) await service.end('SIGTERM');
  if (database?.isInitialized) await database.destroy();
  await servers?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** All errors that the API has, each with a secret or account data in what it is about. */
async function makeRequestsFail(): Promise<void> {
  const wrongHeaders = { Authorization: AUTHORIZATION, 'X-Broken': `${AUTHORIZATION}\u0000` };
  await call('POST', '/v1/webhooks', webhook({ endpoint: REFUSED_URL }));
  await call('POST', '/v1/webhooks', webhook({ headers: wrongHeaders }));
  await call('POST', '/v1/webhooks', webhook({ headers: { 'Webhook-Id': AUTHORIZATION } }));
  await call('POST', '/v1/webhooks', `{ "headers": { "Authorization": "${AUTHORIZATION}`);
  await call('POST', '/v1/webhooks', { ...webhook(), title: { [IBAN]: AUTHORIZATION } });
  await call('POST', '/v1/accounts', { bank: MARKER, title: MARKER, currency: IBAN, iban: `${IBAN}${key}` });
  await call('POST', '/v1/imports', { transactions: [movement(accountId, { amount: IBAN, dc: MARKER })] });
  await call('POST', '/v1/imports', `{ "transactions": [ { "description": "${MARKER} ${key} } ] }`);
  await call('POST', '/v1/imports', movements(1, 'a'), { 'Idempotency-Key': 'once' });
  await call('POST', '/v1/imports', movements(2, 'b'), { 'Idempotency-Key': 'once' });
  await call('POST', '/v1/imports', MARKER, { 'Content-Type': `text/${IBAN}` });
  await call('GET', `/v1/transactions?starts=${IBAN}&after=${MARKER}`);
  await call('GET', `/v1/transactions?starts=2026-01-01&cursor=${key}`);
  await call('GET', '/v1/webhooks/999999');
  await call('PATCH', '/v1/webhooks', { secret: key });
  for (const headers of [
    { Authentication: `${key}x` },
    { Authentication: '', Authorization: `Basic ${btoa(`ops:${ADMIN_PASSWORD}`)}` },
  ]) {
    await call('GET', '/v1/accounts', undefined, headers);
  }
  await call('GET', '/ops', undefined, { Authorization: `Basic ${btoa(`${ADMIN_PASSWORD}:ops`)}` });
  await call('GET', '/problems/none');
  for (const bytes of [
    `GET /v1/accounts HTTP/1.1\r\nHost: a\r\nAuthentication: ${key}\r\nbroken header ${key}\r\n\r\n`,
    `GET /v1/accounts HTTP/1.1\r\nHost: ${key} b\r\nAuthentication: ${key}\r\nConnection: close\r\n\r\n`,
    `GET /v1/accounts HTTP/1.1\r\nHost: a\r\nAuthentication: ${key.repeat(600)}\r\n\r\n`,
  ]) {
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
  await call('POST', '/v1/imports', movements(3, 'echoed'));
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
      call('POST', '/v1/imports', movements(300, `lost${i}-`)),
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
  const account = { bank: 'Akbank', title: 'Kasa', currency: 'TRY', iban: IBAN };
  expect((await call('POST', '/v1/accounts', account)).status).toBe(500);
  await call('POST', '/v1/imports', movements(1, 'broken'));
  await until('a job that broke off', () => /job interrupted/.test(service.said));
}

/** Commands and starts that are refused. */
async function makeCommandsFail(): Promise<void> {
  const url = await service.url();
  const file = join(directory, 'statement.json');
  writeFileSync(file, JSON.stringify(movements(1, 'file')));
  const withPassword = `http://ops:${ADMIN_PASSWORD}@127.0.0.1:1/`;
  keep(await runHere(['import', file, '--key', `${key}x`, '--url', url], env));
  keep(await runHere(['import', file, '--key', key, '--url', withPassword], env));
  keep(await runHere(['import', file, '--key', `${key} ${key}`, '--url', url], env));
  keep(await runHere(['import', file, '--key', key, `--kye=${key}`], env));
  keep(await runHere(['listen', '--secret', key], env));
  const { DATABASE_URL = '', REDIS_URL = '' } = env;
  for (const wrong of [
    { SECRET_KEY: `${SECRET_KEY}x` },
    { DATABASE_URL: DATABASE_URL.replace('mysql', 'postgres') },
    { REDIS_URL: REDIS_URL.replace('redis:', 'http:') },
    { ADMIN_USER: '' },
    { TIME_ZONE_OFFSET: REDIS_URL },
    { LOG_LEVEL: SECRET_KEY },
    { PORT: DATABASE_URL },
    { DATABASE_URL: DATABASE_URL.replace('mysql.sock', 'nowhere.sock') },
    { DATABASE_URL: DATABASE_URL.replace('ledgerbell:', 'nobody:') },
  ]) {
    keep(await runHere(['customers', 'list'], { ...env, ...wrong }));
  }
}

it('shows no secret, and nothing of what movements say, wherever something fails', async () => {
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
  // Both were told of what is looked for, and left it out.
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
  // What the servers themselves write down, and all of Redis, from its files.
  for (const name of ['mysql.log', 'redis.log']) {
    copyFileSync(join(directory, 'data', name), join(directory, 'logs', name));
  }
  leaks.push(
    ...(await findLeaks({ directory, redis: { url: env.REDIS_URL ?? '' }, secrets: everything })),
    ...(await findInTables()),
  );
  expect([...new Set(leaks)]).toEqual([]);
});

/** Secrets that stand in clear in any column of any table. */
async function findInTables(): Promise<string[]> {
  const tables = await database.query<{ name: string }[]>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
  );
  const leaks: string[] = [];
  for (const { name } of tables) {
    const rows = await database.query<Record<string, unknown>[]>(`SELECT * FROM ${name}`);
    const text = rows
      .flatMap((row) => Object.entries(row))
      .map(([, value]) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
      .join('\n');
    for (const [needle, what] of secrets)
      if (text.includes(needle)) leaks.push(`${what} in the table ${name}`);
  }
  return leaks;
}
