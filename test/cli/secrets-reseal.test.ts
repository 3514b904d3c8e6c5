import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, expect, it } from 'vitest';
import { createSecretBox } from '../../src/database/secret-box.ts';
import { newDataDir } from '../support/data-dir.ts';
import { useDatabase } from '../support/database.ts';
import { movement } from '../support/movements.ts';
import { type ServiceProcess, startServiceProcess } from '../support/process.ts';
import { useReceiver } from '../support/receiver.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { until } from '../support/until.ts';
import { webhook } from '../support/webhooks.ts';
import { documentOf, runHere } from './command.ts';

/** SECRET_KEY is changed while the service runs, in the order of docs/runbook/planned-work.md. */
const { database, url } = useDatabase();
const redisUrl = useRedisDatabase();
const dataDir = newDataDir();
const receiver = useReceiver();

const [OLD, NEW] = [0, 1].map(() => randomBytes(32).toString('base64')) as [string, string];
const environment = (SECRET_KEY: string, SECRET_KEY_PREVIOUS = '') => ({
  DATA_DIR: dataDir,
  DATABASE_URL: url,
  REDIS_URL: redisUrl,
  SECRET_KEY,
  SECRET_KEY_PREVIOUS,
});

const running: ServiceProcess[] = [];
const start = (...keys: [string, string?]) => {
  const service = startServiceProcess(environment(...keys));
  running.push(service);
  return service;
};
afterAll(async () => {
  for (const { child, end } of running)
    if (child.exitCode === null && child.signalCode === null) await end('SIGTERM');
});

let apiKey: string;
async function call(service: ServiceProcess, method: string, path: string, body?: object, key?: string) {
  const response = await fetch((await service.url()) + path, {
    method,
    headers: {
      Authentication: apiKey,
      'Content-Type': 'application/json',
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the test looks into answers whose shape it is about to check.
  const answer = (await response.json()) as any;
  expect(response.ok, JSON.stringify(answer)).toBe(true);
  return answer;
}

/** The columns of all tables in which something is sealed with the key. */
async function sealedWith(secretKey: string): Promise<string[]> {
  const columns = await database.query<{ t: string; c: string }[]>(
    `SELECT table_name AS t, column_name AS c FROM information_schema.columns
     WHERE table_schema = DATABASE() AND data_type IN ('char', 'varchar', 'text', 'mediumtext', 'longtext')`,
  );
  const prefix = `${createSecretBox(secretKey).keyId}%`;
  const found: string[] = [];
  for (const { t, c } of columns) {
    const rows = await database.query<unknown[]>(`SELECT 1 FROM ${t} WHERE ${c} LIKE ? LIMIT 1`, [prefix]);
    if (rows.length > 0) found.push(`${t}.${c}`);
  }
  return found.sort();
}

it('SECRET_KEY can be changed while the service runs, without a failure or a loss', async () => {
  documentOf(await runHere(['migrate', '--json'], environment(OLD)));
  const first = start(OLD);
  await first.url();
  const made = documentOf(
    await runHere(['customers', 'create', '--name', 'Döner', '--json'], environment(OLD)),
  );
  apiKey = made.api_key;
  const account = { bank: 'Akbank', title: 'Kasa', currency: 'TRY' };
  const accountId = (await call(first, 'POST', '/v1/accounts', account, 'one')).account.id;
  const headers = { 'X-Token': 'of the subscriber' };
  const subscription = webhook({ endpoint: `${receiver.url}/rotated`, headers });
  const { id, secret: former } = (await call(first, 'POST', '/v1/webhooks', subscription, 'two')).webhook;
  const { secret } = (await call(first, 'POST', `/v1/webhooks/${id}/rotate-secret`)).webhook;
  await call(first, 'POST', '/v1/sources', {
    title: 'Banka',
    kind: 'sftp',
    settings: { host: '127.0.0.1', port: 9, user: 'firma', host_key: `SHA256:${'A'.repeat(43)}` },
    credentials: { password: 'gizli' },
    schedule: { every: '31d' },
  });
  // A feed has no secret to seal.
  const feed = { title: 'Kasa', event: 'NEW_TRANSACTION', account: 'all', delivery: 'pull' };
  await call(first, 'POST', '/v1/webhooks', feed);
  let movements = 0;
  /** A movement is delivered, with both signatures and the header. */
  async function expectDelivery(service: ServiceProcess): Promise<void> {
    movements += 1;
    const transactions = [movement(accountId, { unique_id: `m${movements}` })];
    await call(service, 'POST', '/v1/imports', { transactions });
    const post = await until('its notification', () => receiver.at('/rotated')[movements - 1]);
    for (const each of [former, secret])
      expect(() => new Webhook(each).verify(post.body, post.headers)).not.toThrow();
    expect(post.headers).toMatchObject({ 'x-token': 'of the subscriber' });
  }
  await expectDelivery(first);
  const everywhere = [
    'customers.api_secret',
    'idempotency_keys.response',
    'installation.key_id',
    'installation.sealed',
    'sources.credentials',
    'webhooks.headers',
    'webhooks.previous_secret',
    'webhooks.secret',
  ];
  expect(await sealedWith(OLD)).toEqual(everywhere);

  // 1. All processes learn the new key.
  const second = start(OLD, NEW);
  await second.url();
  await first.end('SIGTERM');
  // 2. They seal with it, one after the other. What one of them seals, the others open.
  const third = start(NEW, OLD);
  await third.url();
  const { api_secret: apiSecret } = await call(third, 'POST', '/v1/settings/api/rotate');
  expect(await call(second, 'GET', '/v1/settings/api')).toEqual({ api_secret: apiSecret });
  const other = webhook({ headers });
  const { id: otherId } = (await call(third, 'POST', '/v1/webhooks', other)).webhook;
  expect((await call(second, 'GET', `/v1/webhooks/${otherId}`)).webhook.header_names).toEqual(['X-Token']);
  await expectDelivery(second);
  const stranger = start(randomBytes(32).toString('base64'), OLD);
  expect(await stranger.ended(), stranger.said).toBe(1);
  expect(stranger.said).toMatch(/SECRET_KEY is not the one/);
  await second.end('SIGTERM');

  // 3. Everything is resealed, while requests change the same rows.
  let resealing = true;
  const changing = (async () => {
    while (resealing) await call(third, 'PATCH', `/v1/webhooks/${otherId}`, { headers });
  })();
  const resealed = await runHere(['secrets', 'reseal', '--json'], environment(NEW, OLD));
  resealing = false;
  await changing;
  expect(documentOf(resealed)).toEqual({ resealed: expect.any(Number), remaining: 0, unreadable: [] });
  expect(JSON.parse(resealed.stdout).resealed).toBeGreaterThanOrEqual(5);
  const recorded = "SELECT customer_id, source, subject FROM audit_events WHERE action = 'reseal'";
  const event = { customer_id: null, source: 'command line', subject: 'secrets' };
  expect(await database.query(recorded)).toEqual([event]);
  expect(documentOf(await runHere(['secrets', 'reseal', '--json'], environment(NEW, OLD)))).toEqual({
    resealed: 0,
    remaining: 0,
    unreadable: [],
  });
  expect(await sealedWith(OLD)).toEqual([]);
  await expectDelivery(third);

  // 4. The old key is not needed any more.
  const last = start(NEW);
  await last.url();
  await third.end('SIGTERM');
  expect(await call(last, 'GET', '/v1/settings/api')).toEqual({ api_secret: apiSecret });
  // Stored answers can still be opened. They hold no secret.
  expect((await call(last, 'POST', '/v1/webhooks', subscription, 'two')).webhook).toMatchObject({
    id,
    secret: null,
  });
  await expectDelivery(last);
  expect(await sealedWith(NEW)).toEqual(everywhere);
  const late = start(OLD);
  expect(await late.ended()).toBe(1);
});

it('resealing fails and names the secrets that cannot be opened', async () => {
  const { customer } = documentOf(
    await runHere(['customers', 'create', '--name', 'Kayıp', '--json'], environment(NEW)),
  );
  await database.query('UPDATE customers SET api_secret = ? WHERE id = ?', [
    '0123456789abcdef.AAAA',
    customer.id,
  ]);
  const { code, stdout, stderr } = await runHere(['secrets', 'reseal', '--json'], environment(NEW));
  expect(code).toBe(1);
  const where = `customers.api_secret ${customer.id}`;
  expect(JSON.parse(stdout)).toEqual({ resealed: 0, remaining: 1, unreadable: [where] });
  expect(stderr).toBe(`error: 1 secret cannot be opened with SECRET_KEY or SECRET_KEY_PREVIOUS: ${where}.\n`);
  const spoken = await runHere(['secrets', 'reseal'], environment(NEW));
  expect(spoken.stdout).toBe('0 secrets were sealed with SECRET_KEY. 1 remains with another key.\n');
});
