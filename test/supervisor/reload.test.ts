import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { documentOf, runHere } from '../cli/command.ts';
import { newDataDir } from '../support/data-dir.ts';
import { useDatabase } from '../support/database.ts';
import { movement } from '../support/movements.ts';
import type { ServiceProcess } from '../support/process.ts';
import { useReceiver } from '../support/receiver.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';

/** A reload (SIGHUP) with secrets in files: docs/runbook/planned-work.md, "Change `SECRET_KEY`". */

const { start, newDirectory } = useServiceProcesses();
const { database, url } = useDatabase();
const redisUrl = useRedisDatabase();
const receiver = useReceiver();

const newKey = () => randomBytes(32).toString('base64');
const [OLD, NEW] = [newKey(), newKey()];
const NAMES = ['DATABASE_URL', 'SECRET_KEY', 'SECRET_KEY_PREVIOUS', 'ADMIN_PASSWORD'] as const;

const user = `reload_${randomBytes(4).toString('hex')}`;
/** The database's URL with the user of this test. */
function urlWith(password: string): string {
  const it = new URL(url);
  [it.username, it.password] = [user, password];
  return it.href;
}

let directory: string;
let service: ServiceProcess;
let apiKey: string;
let accountId: string;

const files = () => Object.fromEntries(NAMES.map((name) => [`${name}_FILE`, join(directory, name)]));
const write = (values: Partial<Record<(typeof NAMES)[number], string>>) => {
  for (const [name, value] of Object.entries(values)) writeFileSync(join(directory, name), `${value}\n`);
};

/** Changes files and sends SIGHUP. @returns what the service has said about it. */
async function reload(values: Parameters<typeof write>[0]): Promise<string> {
  write(values);
  const before = service.said.length;
  service.child.kill('SIGHUP');
  return until(
    'the reload has ended',
    () => {
      const said = service.said.slice(before);
      return /The restart (has ended|is not complete)|cannot restart/.test(said) && said;
    },
    60_000,
  );
}

async function call(path: string, body: object) {
  const response = await fetch((await service.url()) + path, {
    method: 'POST',
    headers: { Authentication: apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  expect(response.ok, JSON.stringify(answer)).toBe(true);
  // biome-ignore lint/suspicious/noExplicitAny: the test looks into answers whose shape it is about to check.
  return answer as any;
}

/** Whether a new movement reaches the webhook, which needs the webhook's secret. */
async function delivers(name: string): Promise<void> {
  await call('/v1/imports', {
    transactions: [movement(accountId, { unique_id: name, description: name })],
  });
  await until(`the notification of ${name}`, () =>
    receiver.at('/reload').some(({ body }) => JSON.parse(body).description === name),
  );
}

const signIn = async (password: string): Promise<number> => {
  const headers = { Authorization: `Basic ${btoa(`operator:${password}`)}` };
  return (await fetch(`${await service.opsUrl()}/ops`, { headers })).status;
};

beforeAll(async () => {
  directory = await newDirectory();
  await database.query(`CREATE USER '${user}'@'%' IDENTIFIED BY 'first'`);
  await database.query(`GRANT ALL PRIVILEGES ON \`${new URL(url).pathname.slice(1)}\`.* TO '${user}'@'%'`);
  write({
    DATABASE_URL: urlWith('first'),
    SECRET_KEY: OLD,
    SECRET_KEY_PREVIOUS: newKey(),
    ADMIN_PASSWORD: 'the first password',
  });
  const shared = { REDIS_URL: redisUrl, DATA_DIR: newDataDir() };
  service = start({ ...files(), ...shared, ADMIN_USER: 'operator', PROCESSES: '2' });
  await service.url();
  const created = await runHere(['customers', 'create', '--name', 'Müşteri', '--json'], {
    DATABASE_URL: url,
    SECRET_KEY: OLD,
    ...shared,
  });
  apiKey = documentOf(created).api_key;
  const { account } = await call('/v1/accounts', { bank: 'Akbank', title: 'Kasa', currency: 'TRY' });
  accountId = String(account.id);
  const endpoint = `${receiver.url}/reload`;
  await call('/v1/webhooks', { title: 'ERP', endpoint, event: 'NEW_TRANSACTION', account: 'all' });
  await delivers('before');
});

afterAll(() => database.query(`DROP USER IF EXISTS '${user}'@'%'`));

it('a reload with a key that cannot open what is stored is refused, and everything goes on', async () => {
  const said = await reload({ SECRET_KEY: newKey() });
  expect(said).toMatch(
    /cannot restart its processes: .*SECRET_KEY.* The running processes stay as they are\./,
  );
  write({ SECRET_KEY: OLD });
  await delivers('after the refusal');
});

it('SECRET_KEY and ADMIN_PASSWORD are changed by reloads, in the steps of the runbook, and no delivery stops', async () => {
  expect(await signIn('the first password')).toBe(200);
  await reload({ SECRET_KEY_PREVIOUS: NEW, ADMIN_PASSWORD: 'the second password' });
  expect(await signIn('the second password')).toBe(200);
  expect(await signIn('the first password')).toBe(401);
  await delivers('step 1');
  const said = await reload({ SECRET_KEY: NEW, SECRET_KEY_PREVIOUS: OLD });
  expect(said).toMatch(/^Changed in their files: SECRET_KEY, SECRET_KEY_PREVIOUS\.$/m);
  await delivers('step 2');
  const resealed = await runHere(['secrets', 'reseal', '--json'], {
    DATABASE_URL: url,
    SECRET_KEY: NEW,
    SECRET_KEY_PREVIOUS: OLD,
  });
  expect(documentOf(resealed)).toMatchObject({ remaining: 0 });
});

it('a reload takes a new password of MySQL, which the former processes could not use', async () => {
  await database.query(`ALTER USER '${user}'@'%' IDENTIFIED BY 'second'`);
  const wrong = await reload({ DATABASE_URL: urlWith('wrong') });
  expect(wrong).toMatch(/cannot restart its processes: /);
  expect(wrong).not.toContain('wrong@');
  await reload({ DATABASE_URL: urlWith('second'), SECRET_KEY_PREVIOUS: NEW });
  await delivers('with the second password, and without the former key');
});
