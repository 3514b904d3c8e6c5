import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCustomer } from '../../src/customers/customers.ts';
import { createSecretBox } from '../../src/database/secret-box.ts';
import { mt940 } from '../intake/statement-files.ts';
import { useDatabase } from '../support/database.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';
import { IBAN, newDirectory, writeQuietly } from './folder-source.ts';

/** A service in a separate process, which is killed while it collects. A second service must finish after the lease has ended. */

const { database, url } = useDatabase();
const redisUrl = useRedisDatabase();
const { start } = useServiceProcesses();
const secretKey = randomBytes(32).toString('base64');
let sourcesDir: string;
let key: string;
let inbox: string;
beforeAll(async () => {
  sourcesDir = await newDirectory();
  const made = await createCustomer({ database, secrets: createSecretBox(secretKey) }, 'Kesinti');
  key = made.api_key;
  inbox = join(sourcesDir, made.customer.id, 'inbox');
  await mkdir(inbox, { recursive: true });
  const [bank] = [
    await database.query<{ insertId: number }>('INSERT INTO banks (customer_id, name) VALUES (?, ?)', [
      made.customer.id,
      'Banka',
    ]),
  ];
  await database.query(
    "INSERT INTO accounts (customer_id, bank_id, title, currency, iban) VALUES (?, ?, 'Kasa', 'TRY', ?)",
    [made.customer.id, bank.insertId, IBAN],
  );
});
afterAll(() => rm(sourcesDir, { recursive: true, force: true }));

const startService = () =>
  start({
    DATABASE_URL: url,
    REDIS_URL: redisUrl,
    SECRET_KEY: secretKey,
    SOURCES_DIR: sourcesDir,
  });

async function call(base: string, method: string, path: string, body?: object) {
  const response = await fetch(base + path, {
    method,
    headers: { Authentication: key, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape they are about to check.
  return (await response.json()) as any;
}

const countOf = async (statement: string) => Number((await database.query<{ n: string }[]>(statement))[0]?.n);
const countFiles = () => countOf('SELECT COUNT(*) AS n FROM source_files');
const countRunning = () => countOf("SELECT COUNT(*) AS n FROM source_runs WHERE status = 'running'");
const countImports = () => countOf('SELECT COUNT(*) AS n FROM imports');
const countMovements = () => countOf('SELECT COUNT(*) AS n FROM transactions');

/** As after the time that a process may be silent. */
const endLease = () => database.query('UPDATE sources SET lease_until = NOW(6)');

const statement = (day: number) => mt940([{ day, amount: 100 + day, reference: `R${day}` }]);

const newSource = async (base: string) =>
  String(
    (
      await call(base, 'POST', '/v1/sources', {
        title: 'Kesinti',
        kind: 'folder',
        settings: { path: 'inbox' },
        schedule: { cron: '0 0 1 1 *', time_zone: 'UTC' },
      })
    ).source.id,
  );

it('a file that was staged but not recorded is neither lost nor imported twice', async () => {
  const first = startService();
  const base = await first.url();
  const id = await newSource(base);
  await writeQuietly(join(inbox, 'march.sta'), statement(1));
  await call(base, 'POST', `/v1/sources/${id}/run`);
  // Recording the file needs the row of the run, and has to wait for it.
  await until('a run', async () => (await countOf('SELECT COUNT(*) AS n FROM source_runs')) > 0);
  const holder = database.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SELECT id FROM source_runs FOR UPDATE');
  await until('the file staged', async () => (await countImports()) > 0);
  first.child.kill('SIGKILL');
  await first.ended();
  await holder.rollbackTransaction();
  await holder.release();
  await endLease();
  expect(await countFiles()).toBe(0);
  expect(await readdir(join(inbox, 'done'))).toEqual([]);

  const second = startService();
  await second.url();
  await until('the file in done/', async () => (await readdir(join(inbox, 'done'))).length === 1);
  await until('the end of the run', async () => (await countRunning()) === 0);
  expect([await countFiles(), await countImports(), await countMovements()]).toEqual([1, 1, 1]);
  expect(await readdir(join(inbox, 'processing'))).toEqual([]);
  const { runs } = await call(await second.url(), 'GET', `/v1/sources/${id}/runs`);
  expect(runs).toMatchObject([
    { status: 'done', files: 1, error: null },
    { status: 'failed', files: 0, error: 'The process that ran it ended before the run did.' },
  ]);
  await second.end('SIGTERM');
});

it('files of a run that was killed in the middle are all imported once', async () => {
  const first = startService();
  const base = await first.url();
  const { sources } = await call(base, 'GET', '/v1/sources');
  const before = await countFiles();
  const days = Array.from({ length: 25 }, (_, i) => i + 2);
  for (const day of days) await writeQuietly(join(inbox, `${day}.sta`), statement(day));
  await call(base, 'POST', `/v1/sources/${sources[0].id}/run`);
  await until('some files recorded', async () => (await countFiles()) >= before + 3);
  first.child.kill('SIGKILL');
  await first.ended();
  await endLease();
  expect(await countFiles()).toBeLessThan(before + days.length);

  const second = startService();
  await second.url();
  await until(
    'all files in done/',
    async () => (await readdir(join(inbox, 'done'))).length === days.length + 1,
  );
  await until('the end of the run', async () => (await countRunning()) === 0);
  expect(await countFiles()).toBe(before + days.length);
  expect(await countMovements()).toBe(days.length + 1);
  expect(await countOf('SELECT COUNT(*) AS n FROM imports WHERE duplicates > 0')).toBe(0);
  expect(await readdir(join(inbox, 'processing'))).toEqual([]);
  await second.end('SIGTERM');
});
