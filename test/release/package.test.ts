import { execFile, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { VERSION } from '../../src/platform/config.ts';
import { followService, type ServiceProcess } from '../support/process.ts';
import { processesIn } from '../support/processes-in.ts';
import { until } from '../support/until.ts';

/** The package as a user gets it: packed, and installed with npm into an empty folder. It needs the registry of npm. */

const ROOT = join(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'lb-package-'));
const prefix = join(directory, 'prefix');
const LEDGERBELL = join(prefix, 'bin/ledgerbell');
/** Where npm has put the package. It has package.json with its scripts, and no development dependencies. */
const INSTALLED = join(prefix, 'lib/node_modules/ledgerbell');

/** The installed package gets nothing of the tests' environment except PATH and HOME. */
const { PATH = '', HOME = '' } = process.env;
const env = { PATH, HOME, PORT: '0', OPS_PORT: '0', LOG_LEVEL: 'silent' };

const run = (program: string, args: string[], cwd = directory) =>
  promisify(execFile)(program, args, { cwd, env });

/** Runs npm with the whole environment, which may say how the registry is reached. An unreachable one is an error. */
const npm = (args: string[], cwd: string) => promisify(execFile)('npm', args, { cwd, timeout: 180_000 });

let packed: string[];
beforeAll(async () => {
  // Scripts would compile again. The test run has done it, and other tests run what it has compiled.
  const pack = await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', directory], ROOT);
  const [answer] = JSON.parse(pack.stdout) as { files: { path: string }[] }[];
  packed = answer?.files.map(({ path }) => path) ?? [];
  await npm(['install', '-g', '--prefix', prefix, `./ledgerbell-${VERSION}.tgz`], directory);
});
afterAll(async () => {
  // A test that has failed may have left some running.
  for (const left of await processesIn(directory)) process.kill(Number.parseInt(left, 10));
  rmSync(directory, { recursive: true, force: true });
});

/** Starts the service in a folder. It is ended after the test. */
function start(
  program: string,
  args: string[],
  cwd: string,
  more: Record<string, string> = {},
): ServiceProcess {
  const child = spawn(program, args, { cwd, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  const service = followService(child);
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) await service.end('SIGTERM');
  });
  return service;
}

describe('the package', () => {
  it('contains what the service reads, and neither sources, tests nor the benchmark', () => {
    expect(packed).toEqual(
      expect.arrayContaining([
        'dist/docs/assets/index.json',
        'dist/docs/images/docs-phone.png',
        'dist/docs/pages/docs/receiving/flask.html',
        'dist/docs/site.json',
        'dist/src/cli/main.js',
        'dist/src/main.js',
        'dist/src/cli/demo/main.js',
        'dist/src/intake/parser-thread/parser-thread.js',
        'docker-compose.yml',
        'examples/bank-files/november.sta',
        'examples/movements.ndjson',
        'ops/prometheus/alerts.yml',
        'ops/systemd/ledgerbell@.service',
        'public/ops/console.css',
      ]),
    );
    const folders = packed
      .filter((path) => path.includes('/'))
      .map((path) => /^(dist\/)?[^/]+/.exec(path)?.[0]);
    expect([...new Set(folders)].toSorted()).toEqual([
      'dist/docs',
      'dist/packages',
      'dist/src',
      'dist/workers',
      'examples',
      'ops',
      'public',
    ]);
    expect(packed.filter((path) => /\.(tsx?|map|tsbuildinfo)$/.test(path))).toEqual([]);
  });

  it('has a command line that prints its version', async () => {
    expect((await run(LEDGERBELL, ['--version'])).stdout).toBe(`${VERSION}\n`);
  });

  it('runs the demo successfully', async () => {
    const { stdout } = await run(LEDGERBELL, ['demo', '--once']);
    expect(stdout).toContain('Every expected notification was delivered, received and verified.');
  });
});

describe('ledgerbell start', () => {
  it('runs the service with its data in the current folder, and ends on SIGTERM', async () => {
    const folder = join(directory, 'started');
    mkdirSync(folder);
    const service = start(LEDGERBELL, ['start'], folder);
    const answer = await fetch(`${await service.url()}/healthz`);
    expect(await answer.json()).toEqual({ status: 'ok', version: VERSION });
    for (const page of ['/docs', '/docs/receiving/flask', '/docs/api', '/docs/assets/docs.js'])
      expect([page, (await fetch((await service.url()) + page)).status]).toEqual([page, 200]);
    expect(existsSync(join(folder, '.data/mysql.json'))).toBe(true);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(await processesIn(folder)).toEqual([]);
  });

  it('refuses a role that does not exist', async () => {
    await expect(run(LEDGERBELL, ['start', '--roles', 'api,mailer'])).rejects.toMatchObject({
      code: 1,
      stderr:
        'error: --roles takes api, importer, delivery, maintenance, separated by commas; "mailer" is not a role.\n',
    });
  });
});

describe('npm start', () => {
  it('needs no compiler if dist exists, and leaves no process when npm gets SIGTERM', async () => {
    const dataDir = join(directory, 'data');
    const service = start('npm', ['start'], INSTALLED, { DATA_DIR: dataDir, PROCESSES: '2' });
    const url = await service.url();
    // npm, the supervisor and its two processes.
    expect(await processesIn(INSTALLED)).toHaveLength(4);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.said).toContain('SIGTERM: finishing what is in hand');
    await until('nothing is left', async () => (await processesIn(directory)).length === 0, 5_000);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('says in one line what is missing if it can neither run nor compile', async () => {
    const folder = join(directory, 'without-dist');
    mkdirSync(folder);
    copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
    await expect(run('npm', ['start'], folder)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^There is no dist, and what compiles it is not installed\. Run: npm ci && npm run build$/m,
      ),
    });
  });
});
