import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tokenOf } from '../operators/support.ts';
import { countsOf, createFeed } from '../support/feeds.ts';
import { brokenLinksOf } from '../support/packed-links.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The package as a user gets it: packed, installed into an empty project, and used as its README says. Needs the registry of npm. */

const ROOT = join(import.meta.dirname, '../..');
const PACKAGE = join(ROOT, 'packages/sdk');
const run = promisify(execFile);

const service = useService();
let project: string;
let env: Record<string, string>;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'ledgerbell-sdk-'));
  const packed = await run('npm', ['pack', '--json', '--pack-destination', project], {
    cwd: PACKAGE,
    env: { ...process.env, DOCS_URL: `${service.url}/docs` },
  });
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')));
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['install', `./${filename}`], { cwd: project });
  for (const [, name = '', text = ''] of (await readFile(join(PACKAGE, 'README.md'), 'utf8')).matchAll(
    /```js (\S+)\n(.*?)```/gs,
  ))
    await writeFile(join(project, name), text);
  const { api_key: key } = await service.customer();
  const { PATH = '' } = process.env;
  env = { PATH, LEDGERBELL_URL: service.url, LEDGERBELL_KEY: key };
  return () => rm(project, { recursive: true });
});

const runSnippet = async (name: string, ...args: string[]) =>
  (await run(process.execPath, [name, ...args], { cwd: project, env })).stdout.trim();

describe('the TypeScript package', () => {
  it('has documents whose links lead to pages of /docs', async () => {
    const folder = join(project, 'node_modules/@ledgerbell/sdk');
    expect(await brokenLinksOf(folder, `${service.url}/docs`)).toEqual([]);
  });

  it('contains compiled code and types, and has one dependency', async () => {
    const { stdout } = await run('npm', ['ls', '--all', '--parseable'], { cwd: project });
    const names = stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((path) => path.split('node_modules/').at(-1));
    expect(names).toEqual(expect.arrayContaining(['@ledgerbell/sdk', 'standardwebhooks']));
    expect(names.length).toBeLessThan(6);
  });

  it.each([
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])('has types that compile with strict, module %s and resolution %s', async (module, resolution) => {
    await writeFile(
      join(project, 'use.ts'),
      `import { type CreatedCustomer, type CsvQuery, type FeedEvent, type FeedOptions, Ledgerbell, LedgerbellOperator, type MovementsQuery, type Position, type Transaction } from '@ledgerbell/sdk';
import { createReceiver } from '@ledgerbell/sdk/receiver';
const ledgerbell = new Ledgerbell({ url: 'http://127.0.0.1:3000', apiKey: 'key' });
export async function read(position: Position | null): Promise<Transaction[]> {
  for await (const batch of ledgerbell.poll({ position })) return batch.movements;
  return [];
}
export async function pull(options: FeedOptions): Promise<FeedEvent | null> {
  for await (const event of ledgerbell.feed(1, options)) return event;
  return null;
}
export async function find(query: MovementsQuery): Promise<Transaction | null> {
  for await (const movement of ledgerbell.movements({ ...query, q: 'rent', order: 'newest' })) return movement;
  return null;
}
export const csv = (query: CsvQuery): Promise<ReadableStream<Uint8Array>> => ledgerbell.exportMovements({ ...query, bom: 'true' });
export const operator = new LedgerbellOperator({ url: 'http://127.0.0.1:3001', token: 'lbop_' });
export const embed = (externalId: string): Promise<CreatedCustomer> => operator.customers.getOrCreate({ externalId, name: 'Acme', accounts: [{ bank: 'Bank', title: 'Main', currency: 'EUR' }] });
export const acting: Ledgerbell = new Ledgerbell({ operator: { url: 'http://127.0.0.1:3001', token: 'lbop_' }, customer: { externalId: 'acme' } });
export const receiver = createReceiver({ secret: 'whsec_AAAA', async onMovement({ movement }) { const amount: string = movement.amount; void amount; } });
export const batches = createReceiver({ secret: 'whsec_AAAA', async onBatch(events) { return { failed: events.map(({ id }) => id) }; } });
`,
    );
    const options = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022,dom', '--types', ''];
    const how = ['--module', module, '--moduleResolution', resolution];
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    await run(tsc, [...options, ...how, 'use.ts'], { cwd: project }).catch(({ stdout }) =>
      expect(stdout).toBe(''),
    );
  });
});

describe('the programs of the README', () => {
  it('import a file and movements, list movements, and read a typed error', async () => {
    const statement = join(ROOT, 'examples/bank-files/november.sta');
    expect(await runSnippet('upload.mjs', statement)).toMatch(/^done [1-9]\d*$/);
    expect(await runSnippet('import.mjs')).toBe('1 new, 0 known already');
    expect(await runSnippet('import.mjs')).toBe('0 new, 1 known already');
    expect(await runSnippet('list.mjs')).toContain('2026-01-15 Credit 1250.00');
    await runSnippet('export.mjs');
    expect(await readFile(join(project, 'movements.csv'), 'utf8')).toMatch(
      /^date_issue,signed_amount,name\r\n(.*\r\n)*2026-01-15,1250\.00,/,
    );
    expect(await runSnippet('error.mjs')).toBe('422 /problems/invalid endpoint');
  });

  it('create a customer as an operator, and act for it', async () => {
    env.LEDGERBELL_OPS_URL = service.opsUrl;
    env.LEDGERBELL_OPERATOR_TOKEN = await tokenOf(service, 'operator');
    expect(await runSnippet('operator.mjs')).toBe('true true\nAcme 1');
    expect(await runSnippet('operator.mjs')).toBe('false false\nAcme 1');
  });

  it('read a feed', async () => {
    const feed = await createFeed(service);
    await feed.post('/test');
    await feed.store(2);
    const child = spawn(process.execPath, ['feed.mjs'], {
      cwd: project,
      env: { ...env, LEDGERBELL_KEY: feed.key, WEBHOOK_ID: String(feed.id) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill());
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await until('both are acknowledged', async () => (await countsOf(feed)).delivered === 2, 30_000);
    expect(said).toMatch(/^(msg_\d+-\d+ Credit 1250.00 TRY\n){2}$/);
  });

  it('poll from the stored position', async () => {
    const poll = () => {
      const child = spawn(process.execPath, ['poll.mjs'], {
        cwd: project,
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      onTestFinished(() => void child.kill());
      return { child, said: () => said };
    };
    const first = poll();
    await until('the movement is polled', () => first.said().includes('Credit 1250.00'), 30_000);
    await until('the position is stored', () => existsSync(join(project, 'position.json')), 30_000);
    const exit = once(first.child, 'exit');
    first.child.kill();
    await exit;
    const second = poll();
    await service.call('POST', '/v1/imports', {
      key: env.LEDGERBELL_KEY ?? '',
      body: { transactions: [{ ...NEW, account_id: await accountId() }] },
    });
    await until('the next one is polled', () => second.said().includes('Debit 7.77'), 30_000);
    expect(second.said().trim().split('\n')).toHaveLength(1);
  });
});

const NEW = { dc: 'Debit', amount: '7.77', date_issue: '2026-02-01', unique_id: 'next', description: 'NEXT' };
const accountId = async () =>
  (await service.call('GET', '/v1/accounts', { key: env.LEDGERBELL_KEY ?? '' })).body.accounts[0].id;
