import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { utils } from 'ssh2';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { tokenOf } from '../operators/support.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { insertWithdrawnFile } from '../support/withdrawn-files.ts';
import { readSnippets } from './snippets.ts';

const folder = mkdtempSync(join(tmpdir(), 'requests-'));
const service = useOwnService({ because: 'it has a folder for sources', config: { sourcesDir: folder } });
const receiver = useReceiver();
let key: string;
let token: string;

const IBAN = 'TR330006100519786457841326';
const STATEMENT = [
  ':20:1',
  `:25:${IBAN}`,
  ':28C:3/1',
  ':60F:C260301TRY1000,00',
  ':61:2603020302C250,50NTRFNONREF',
  ':86:RENT',
  ':62F:C260302TRY1250,50',
].join('\n');

/** The ids that pages use: account 1, webhook 1, webhook 2, which is a feed, source 1, import 4, and import 5, which
 * source 1 has collected and that was withdrawn. */
beforeAll(async () => {
  const customer = await service.customer();
  key = customer.api_key;
  token = await tokenOf(service, 'admin');
  const create = async (path: string, body: unknown, type?: string) => {
    const { status } = await service.call('POST', path, { key, body, ...(type && { type }) });
    expect(status).toBeLessThan(300);
  };
  writeFileSync(join(folder, 'march.sta'), STATEMENT);
  writeFileSync(join(folder, 'bank_sftp'), utils.generateKeyPairSync('ed25519').private);
  await create('/v1/accounts', { title: 'Ana Hesap', bank: 'Garanti BBVA', currency: 'TRY', iban: IBAN });
  await create('/v1/webhooks', {
    title: 'A',
    endpoint: receiver.url,
    event: 'NEW_TRANSACTION',
    account: 'all',
  });
  await create('/v1/webhooks', { title: 'B', delivery: 'pull', event: 'NEW_TRANSACTION', account: 'all' });
  await create('/v1/sources', {
    title: 'Folder',
    kind: 'folder',
    settings: { path: 'first' },
    schedule: { every: '1h' },
  });
  const movement = { account_id: 1, dc: 'Credit', amount: '1.00', date_issue: '2026-01-15' };
  for (const unique_id of ['A', 'B', 'C', 'D'])
    await create('/v1/imports', { transactions: [{ ...movement, unique_id }] });
  await insertWithdrawnFile(service.runtime.database, '1');
});

beforeEach(async () => {
  const body = { endpoint: receiver.url, event: 'NEW_TRANSACTION', status: 'active' };
  await service.call('PATCH', '/v1/webhooks/1', { key, body });
});

const requests = readSnippets().filter(({ command }) => /^(curl|jq) /.test(command));

/** Runs a command of a page in bash, against this test's service. Statuses of 400 and above make it fail. */
async function run(command: string) {
  const { port } = new URL(service.opsUrl);
  const here = command
    .replaceAll(/(?:http:\/\/)?(?:127\.0\.0\.1|localhost):3000/g, service.url)
    .replaceAll('127.0.0.1:3001', `127.0.0.1:${port}`)
    .replaceAll('…', 'x')
    // Hosts that no DNS knows.
    .replaceAll(/https?:\/\/[a-z.]+\.example/g, receiver.url)
    .replaceAll(/[a-z.]+\.example/g, '127.0.0.1')
    .replaceAll('"region": "eu-central-1"', `"endpoint": "${receiver.url}"`);
  const script = `set -eo pipefail; curl() { command curl --fail-with-body --max-time 30 "$@"; }\n${here}`;
  const child = spawn('bash', ['-c', script], {
    cwd: folder,
    env: { ...process.env, URL: service.url, KEY: key, OPS_URL: service.opsUrl, TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, problem, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('close', resolve)),
  ]);
  return { code, said: out + problem };
}

it('the documentation has many requests', () => {
  expect(requests.length).toBeGreaterThan(30);
});

const isMissing = (program: string): boolean => spawnSync(program, ['--version']).error !== undefined;
const missing = ['curl', 'jq'].filter(isMissing);

it.for(requests)('the request of $page:$line is accepted', async ({ command }, { skip }) => {
  for (const program of missing) skip(command.includes(`${program} `), `${program} is not installed`);
  // A stream goes on until curl gives up, with 28.
  const isStream = command.includes('text/event-stream');
  const { code, said } = await run(isStream ? command.replace('-sN', '-sN --max-time 2') : command);
  expect(code, said).toBe(isStream ? 28 : 0);
  if (isStream) expect(said).toMatch(/^id: \S+\ndata: {/m);
});
