import { execFile, execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { compile, compiled } from '../support/compiled.ts';
import { newDataDir } from '../support/data-dir.ts';
import { useDatabase } from '../support/database.ts';
import { movement } from '../support/movements.ts';
import { send } from '../support/raw-http.ts';
import { useReceiver } from '../support/receiver.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';

/** Runs the previous commit and this one side by side. */

const ROOT = join(import.meta.dirname, '../..');
const INITIAL_SCHEMA = [
  'src/database/migrations/initial-schema',
  'src/database/migrations/initial-schema.ts',
];

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();

/** With uncommitted changes, the previous commit is HEAD. null: this is not a clone, or it has no history. */
function findPrevious(): string | null {
  try {
    return git('rev-parse', git('status', '--porcelain', '--', 'src') === '' ? 'HEAD~1' : 'HEAD');
  } catch {
    return null;
  }
}

/** Before the first release, the initial schema may change, and a database cannot be upgraded then. */
const previous = findPrevious();
const canUpgrade = previous !== null && git('diff', '--name-only', previous, '--', ...INITIAL_SCHEMA) === '';

const directory = mkdtempSync(join(tmpdir(), 'ledgerbell-previous-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Compiles the previous commit in a folder of its own. */
async function compilePrevious(): Promise<void> {
  const archive = join(directory, 'previous.tar');
  git('archive', '--output', archive, previous ?? '');
  await promisify(execFile)('tar', ['-xf', archive, '-C', directory]);
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  await compile({ root: directory });
}

const { database, url: databaseUrl } = useDatabase({ migrated: false });
const receiver = useReceiver();
const { start } = useServiceProcesses();

const env = {
  DATA_DIR: newDataDir(),
  DATABASE_URL: databaseUrl,
  REDIS_URL: useRedisDatabase(),
  SECRET_KEY: randomBytes(32).toString('base64'),
  OPS_PORT: '0',
};

async function cli(root: string | undefined, ...args: string[]) {
  const { PATH = '', HOME = '' } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [compiled('src/cli/main.ts', root), ...args, '--json'],
    { env: { PATH, HOME, ...env } },
  );
  return JSON.parse(stdout);
}

const ROLES = ['--roles', 'api,importer,delivery,maintenance'];

describe.skipIf(!canUpgrade)('the previous commit and the current one', () => {
  it('run side by side under load, and no movement is lost, sent twice or refused', async () => {
    await compilePrevious();
    await cli(directory, 'migrate');
    const old = start(env, ROLES, 'src/main.ts', directory);
    const oldUrl = await old.url();
    const { customer, api_key: key } = await cli(directory, 'customers', 'create', '--name', 'Müşteri');
    const { account } = await cli(
      directory,
      ...['accounts', 'create', '--customer', String(customer.id), '--bank', 'Akbank'],
      ...['--title', 'Kasa', '--currency', 'TRY'],
    );
    const post = (url: string, path: string, body: unknown) =>
      send(url + path, {
        method: 'POST',
        headers: {
          Authentication: key,
          'Content-Type': 'application/json',
          'Idempotency-Key': randomUUID(),
        },
        body: JSON.stringify(body),
      });
    for (const title of ['one', 'two'])
      await post(oldUrl, '/v1/webhooks', {
        title,
        endpoint: `${receiver.url}/${title}`,
        event: 'NEW_TRANSACTION',
        account: 'all',
      });

    const urls = [oldUrl];
    const accepted: string[] = [];
    const statuses = new Set<number>();
    let isOver = false;
    const clients = Array.from({ length: 4 }, async (_, client) => {
      for (let i = 0; !isOver; i += 1) {
        const unique_id = `${client}-${i}`;
        // Some are stored by the API itself, and some by an importer.
        const rows = i % 10 === 0 ? 150 : 1;
        const ids = Array.from({ length: rows }, (_, row) => `${unique_id}-${row}`);
        const transactions = ids.map((id) => movement(account.id, { unique_id: id, description: id }));
        const { status } = await post(urls[i % urls.length] ?? oldUrl, '/v1/imports', { transactions });
        statuses.add(status);
        accepted.push(...ids);
      }
    });
    const goesOn = async () => {
      const before = accepted.length;
      await until('imports go on', () => accepted.length > before + 1_000, 60_000);
    };
    await goesOn();

    await cli(undefined, 'migrate');
    const young = start(env, ROLES);
    urls.push(await young.url());
    await goesOn();

    urls.shift();
    expect(await old.end('SIGTERM')).toBe(0);
    await goesOn();
    isOver = true;
    await Promise.all(clients);
    expect([...statuses]).toEqual([202]);

    for (const path of ['/one', '/two']) {
      const received = () => receiver.at(path).map(({ body }) => JSON.parse(body).description as string);
      await until('all is delivered', () => new Set(received()).size === accepted.length, 120_000);
      expect(received().toSorted()).toEqual(accepted.toSorted());
    }
    const [stored] = await database.query<{ movements: string }[]>(
      'SELECT COUNT(*) AS movements FROM transactions',
    );
    expect(Number(stored?.movements)).toBe(accepted.length);
  }, 300_000);
});
