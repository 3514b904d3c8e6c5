import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createScreen } from '../../../src/cli/demo/screen.ts';
import { watchSights } from '../../../src/cli/demo/trouble-demo.ts';
import { findRunning } from '../../../src/servers/running-servers.ts';
import { findDirectory } from '../../servers/start.ts';
import { compareAnswers } from '../../support/answers.ts';
import { until } from '../../support/until.ts';
import { finish, spawnProgram } from './spawn-demo.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(await findDirectory(), 'ledgerbell-trouble-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const spawnDemo = () => spawnProgram('cli/demo', ['--trouble'], { DATA_DIR: dataDir, PORT: '0' });

const ENDPOINT = String.raw`[\d,]+ delivered, [\d,]+ pending`;
const SIGHTS = [
  `healthy endpoint +webhooks show 1 +/ops/webhooks/1 +Accounting of Kardelen Market: ${ENDPOINT}`,
  String.raw`dead endpoint +webhooks show 2 +/ops/webhooks/2 +Treasury of Kardelen Market: .*ECONNREFUSED.*, 0 delivered, [\d,]+ pending`,
  `healthy endpoint +webhooks show 3 +/ops/webhooks/3 +Warehouse of Boğaz Lojistik: ${ENDPOINT}`,
  `slow endpoint +webhooks show 4 +/ops/webhooks/4 +Cash desk of Boğaz Lojistik: no error, ${ENDPOINT}`,
  `flapping endpoint +webhooks show 5 +/ops/webhooks/5 +Mobile app of Boğaz Lojistik: failed and works again, ${ENDPOINT}`,
  String.raw`failed import +imports show \d+ +/ops/imports/\d+ +The file is a zip, and is empty, broken or cut off\..*`,
  String.raw`failing source +sources show 1 +/ops/sources/1 +.* refuses connections\..*`,
  `healthy source +sources show 2 +/ops/sources/2 +no error, 10 movements in its file`,
];

describe('the demo with trouble', () => {
  it('without --once begins anew, and stays up with traffic, pages and commands, until Ctrl-C', async () => {
    const former = join(dataDir, 'trouble', 'mysql', 'former');
    await mkdir(dirname(former), { recursive: true });
    await writeFile(former, '');
    const child = spawnDemo();
    const finished = finish(child);
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await finished;
    });
    let shown = '';
    child.stdout?.on('data', (part: Buffer) => {
      shown += part;
    });
    await until('everything to be seen', () => shown.includes('Ctrl-C ends the demo.'), 150_000);
    for (const sight of SIGHTS) expect(shown).toMatch(new RegExp(`^ {2}✔ ${sight}$`, 'm'));
    await expect(access(former)).rejects.toThrow('ENOENT');

    const pages = [...shown.matchAll(/^ {2}(?:Docs|Console|Queues|Metrics) +(http\S+)$/gm)].map(
      ([, url = '']) => url,
    );
    expect(pages).toHaveLength(4);
    const [, opsPage] = pages;
    const sightPages = [...shown.matchAll(/ (\/ops\/\w+\/\d+) /g)].map(
      ([, path = '']) => new URL(path, opsPage).href,
    );
    expect(sightPages).toHaveLength(SIGHTS.length);
    for (const url of [...pages, ...sightPages]) expect((await fetch(url)).status, url).toBe(200);

    const env = Object.fromEntries(
      [...shown.matchAll(/(DATA_DIR|ALLOW_PRIVATE_ENDPOINTS)='?([^\s']+)'?/g)].map(([, name, value]) => [
        name ?? '',
        value ?? '',
      ]),
    );
    const status = async () => finish(spawnProgram('cli', ['status', '--json'], env));
    const before = await status();
    expect(before.code, before.stderr).toBe(1);
    const report = JSON.parse(before.stdout);
    expect(report.problems).toEqual(['1 source is failing.']);
    const troubles = await compareAnswers(
      {
        opsUrl: new URL(opsPage ?? '').origin,
        status: (...options) => finish(spawnProgram('cli', ['status', ...options], env)),
        webhook: async (id) => {
          const { stdout } = await finish(
            spawnProgram('cli', ['webhooks', 'show', String(id), '--json'], env),
          );
          return JSON.parse(stdout).webhook;
        },
      },
      ['webhook_failing', 'webhook_flapping', 'import_failed', 'source_failing'],
    );
    expect(troubles.map(({ subject }) => subject?.id)).toHaveLength(4);
    await until('more traffic to come', async () => {
      return JSON.parse((await status()).stdout).pending > report.pending;
    });

    child.kill('SIGINT');
    const { code, stderr } = await finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await findRunning(join(dataDir, 'trouble'))).toBeNull();
  });
});

it('the demo with trouble names the troubles that it could not see in time', async () => {
  let shown = '';
  const screen = createScreen({
    write(text: string | Uint8Array) {
      shown += text;
      return true;
    },
  });
  const { signal } = new AbortController();
  const sight = { command: 'webhooks show 1', page: '/ops/webhooks/1' };
  const sights = [
    { ...sight, name: 'there', find: async () => 'fails' },
    { ...sight, name: 'missing', find: async () => null },
  ];
  expect(await watchSights(sights.slice(0, 1), { screen, signal })).toBe(true);
  shown = '';
  expect(await watchSights(sights, { screen, signal, timeLimit: 1 })).toBe(false);
  expect(shown).toContain('✔ there    webhooks show 1  /ops/webhooks/1  fails\n');
  expect(shown).toContain('✘ missing  webhooks show 1  /ops/webhooks/1  not seen in time\n');
});
