import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { importNodeImage, type Podman, startPodman } from '../support/container-image.ts';
import { useDatabase } from '../support/database.ts';
import { INSTALL_TIMEOUT } from '../support/installed-program.ts';
import { followService, type ServiceProcess } from '../support/process.ts';
import { useReceiver } from '../support/receiver.ts';
import { startRelay } from '../support/relay.ts';
import { reservePort } from '../support/reserved-port.ts';
import { until } from '../support/until.ts';
import { webhook } from '../support/webhooks.ts';

/** The image that the Dockerfile makes, run as docker-compose.yml runs it. Needs root, and the registry of npm. */

const ROOT = join(import.meta.dirname, '../..');
const IMAGE = 'localhost/ledgerbell';
/** docker-compose.yml gives these to each container. */
const CONTAINED = [
  '--read-only',
  '--cap-drop',
  'ALL',
  '--security-opt',
  'no-new-privileges',
  '--memory',
  '1g',
];
/** The machine's own limits may be lower than podman's, and then they cannot be raised. */
const LIMITS = ['--ulimit', 'nofile=1024:4096', '--ulimit', 'nproc=4096:4096'];
const ROLES = ['api', 'importer', 'delivery', 'maintenance'];

/** Files that a checkout may have beside its own, with passwords or keys. */
const SECRETS = [
  'secrets/database_url',
  '.env',
  '.env.production',
  '.data/secret.key',
  '.data/demo/secret.key',
  '.git/config',
  '.netrc',
  'ops/docker/secrets/secret_key',
  'ops/docker/.env',
  'packages/sdk/.env.local',
  'packages/sdk/.npmrc',
  'deploy/.data/secret.key',
  'deploy/tls.key',
  'deploy/tls.pem',
  'deploy/bank.p12',
  'deploy/bank.pfx',
  'deploy/id_ed25519',
  'deploy/id_rsa',
];
/** The text in all these files. Whatever of the build has it, has a secret. */
const SECRET_MARK = randomUUID();
/** The text in a file that only the stage `build` has. Where it is not found, that stage was not searched. */
const BUILD_MARK = randomUUID();

const receiver = useReceiver();
const { url: databaseUrl } = useDatabase({ migrated: false });

let podman: Podman | null = null;
let directory: string;
/** The options of each build. With layers, so that what the stage `build` had is still there to be searched. */
let building: string[];
const started: ServiceProcess[] = [];

beforeAll(async () => {
  podman = await startPodman();
  if (podman === null) return;
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-image-'));
  const base = await importNodeImage(podman);
  const context = join(directory, 'context');
  await makeContext(context);
  building = ['build', '--isolation', 'chroot', '--layers=true', '--build-arg', `NODE_IMAGE=${base}`];
  await podman(...building, '--tag', IMAGE, context);
}, INSTALL_TIMEOUT);

/** Copies the checkout, without what git ignores, and adds files with the marks. */
async function makeContext(context: string): Promise<void> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) {
    // A file that was deleted, but not from the index.
    if (!existsSync(join(ROOT, file))) continue;
    await mkdir(dirname(join(context, file)), { recursive: true });
    await copyFile(join(ROOT, file), join(context, file));
  }
  for (const file of SECRETS) {
    await mkdir(dirname(join(context, file)), { recursive: true });
    await writeFile(join(context, file), SECRET_MARK, { flag: 'wx' });
  }
  await writeFile(join(context, 'docs/mark.txt'), BUILD_MARK, { flag: 'wx' });
}

afterAll(async () => {
  await Promise.all(started.map((it) => it.end('SIGTERM')));
  await podman?.end();
  if (directory !== undefined) await rm(directory, { recursive: true, force: true });
}, 60_000);

/** Runs a program in a container of its own. */
const runIn = (...command: string[]) =>
  podman?.('run', '--rm', '--network', 'none', ...CONTAINED, ...LIMITS, IMAGE, ...command) ?? '';

describe('the image', () => {
  it('is built without the secrets of the checkout: no layer of any stage has one', async ({ skip }) => {
    if (podman === null) skip();
    const storage = await podman?.('info', '--format', '{{.Store.GraphRoot}}');
    const find = (mark: string) => {
      const args = ['--recursive', '--files-with-matches', '--fixed-strings', mark, storage ?? ''];
      const { status, stdout, stderr } = spawnSync('grep', args, { encoding: 'utf8' });
      expect([0, 1], stderr).toContain(status);
      return stdout.split('\n').filter(Boolean);
    };
    expect(find(BUILD_MARK)).toContainEqual(expect.stringMatching(/\/build\/docs\/mark\.txt$/));
    expect(find(SECRET_MARK)).toEqual([]);
  });

  it('contains the package, and no sources, compiler, tests or cache of npm', async ({ skip }) => {
    if (podman === null) skip();
    const files = (
      await runIn(
        'sh',
        '-c',
        'cd /app && find . -maxdepth 1 && find dist examples node_modules public -maxdepth 3',
      )
    ).split('\n');
    expect(files).toEqual(
      expect.arrayContaining([
        'dist/docs/site.json',
        'dist/src/main.js',
        'examples/movements.ndjson',
        'public/docs/docs.css',
        'public/ops/console.css',
        './sbom.spdx.json',
      ]),
    );
    const unwanted =
      /\.[cm]?ts$|^\.\/(src|test|bench|docs)$|node_modules\/(typescript|tsx|vitest|esbuild|@typescript|@biomejs)$/;
    expect(files.filter((name) => unwanted.test(name))).toEqual([]);
    expect(await runIn('sh', '-c', 'find / -xdev -name _cacache; command -v gcc cc python3 make; true')).toBe(
      '',
    );
  });

  it('runs as a user without privileges, and writes only to /tmp', async ({ skip }) => {
    if (podman === null) skip();
    expect(
      await runIn(
        'sh',
        '-c',
        'id -u; touch /app/x 2>/dev/null || echo refused; touch /tmp/x && echo written',
      ),
    ).toBe('1000\nrefused\nwritten');
    expect(await runIn('grep', '-h', '^CapEff', '/proc/self/status')).toMatch(/\s0+$/);
  });

  it('contains a list of its npm packages', async ({ skip }) => {
    if (podman === null) skip();
    const { spdxVersion, packages } = JSON.parse(await runIn('cat', '/app/sbom.spdx.json'));
    expect(spdxVersion).toMatch(/^SPDX-2/);
    const names = packages.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['hono', 'bullmq', 'ioredis', 'typeorm', 'mysql2']));
    expect(names).not.toContain('vitest');
  });

  it('has the compiled code of its packages for its own platform, and one for another platform has that', async ({
    skip,
  }) => {
    if (podman === null) skip();
    const list = ['ls', '/app/node_modules/@msgpackr-extract'];
    const [own, other] = process.arch === 'arm64' ? ['arm64', 'x64'] : ['x64', 'arm64'];
    expect(await runIn(...list)).toBe(`msgpackr-extract-linux-${own}`);
    // The stage `build` runs on this platform, whatever the image is for.
    const tag = 'localhost/ledgerbell-of-another-platform';
    const target = `TARGETARCH=${other === 'x64' ? 'amd64' : other}`;
    const context = join(directory, 'context');
    await podman?.(...building, '--target', 'build', '--build-arg', target, '--tag', tag, context);
    expect(await podman?.('run', '--rm', '--network', 'none', ...LIMITS, tag, ...list)).toBe(
      `msgpackr-extract-linux-${other}`,
    );
    const sbom = await podman?.(
      'run',
      '--rm',
      '--network',
      'none',
      ...LIMITS,
      tag,
      'cat',
      '/app/sbom.spdx.json',
    );
    expect(sbom).toContain(`"@msgpackr-extract/msgpackr-extract-linux-${other}"`);
    expect(sbom).not.toContain(`"@msgpackr-extract/msgpackr-extract-linux-${own}"`);
  });

  it('delivers an import with a container per role and secrets in files', async ({ skip }) => {
    if (podman === null) skip();
    const mysql = await startRelay(databaseUrl);
    const redis = await startRelay(inject('redisUrl'));
    const secrets = join(directory, 'secrets');
    await mkdir(secrets);
    for (const [name, value] of Object.entries({
      database_url: mysql.url,
      redis_url: redis.url,
      secret_key: Buffer.alloc(32, 7).toString('base64'),
    })) {
      await writeFile(join(secrets, name), value);
      await chmod(join(secrets, name), 0o444);
    }
    const environment = {
      DATABASE_URL_FILE: '/run/secrets/database_url',
      REDIS_URL_FILE: '/run/secrets/redis_url',
      SECRET_KEY_FILE: '/run/secrets/secret_key',
      HOST: '127.0.0.1',
      ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
      LOG_LEVEL: 'warn',
    };
    const options = (name: string, ports: Record<string, string> = {}) => [
      ...[
        'run',
        '--rm',
        '--name',
        name,
        '--network',
        'host',
        ...CONTAINED,
        ...LIMITS,
        '--volume',
        `${secrets}:/run/secrets:ro`,
      ],
      ...Object.entries({ ...environment, ...ports }).flatMap(([name, value]) => [
        '--env',
        `${name}=${value}`,
      ]),
      IMAGE,
    ];
    await podman?.(...options('migrate'), 'node', 'dist/src/cli/main.js', 'migrate');
    // The service has left the token for commands in its container.
    const cli = async (...args: string[]) =>
      (await podman?.('exec', 'api', 'node', 'dist/src/cli/main.js', ...args)) ?? '';
    for (const role of ROLES) {
      const ports = { PORT: String(await reservePort()), OPS_PORT: String(await reservePort()) };
      const args = [
        ...(podman?.options ?? []),
        ...options(role, ports),
        'node',
        'dist/src/main.js',
        '--roles',
        role,
      ];
      started.push(followService(spawn('podman', args, { stdio: ['ignore', 'pipe', 'pipe'] })));
    }
    const url = await started[0]?.url();
    const { api_key: key, customer } = JSON.parse(
      await cli('customers', 'create', '--name', 'Kap', '--json'),
    );
    const call = async (path: string, body: string, type = 'application/json') => {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { Authentication: key, 'Content-Type': type },
        body,
      });
      expect([path, response.ok]).toEqual([path, true]);
    };
    const ids: string[] = [];
    for (const { ref: _ref, ...account } of JSON.parse(
      await readFile(join(ROOT, 'examples/accounts.json'), 'utf8'),
    )) {
      const flags = Object.entries({ customer: customer.id, ...account }).flatMap(([name, value]) => [
        `--${name}`,
        String(value),
      ]);
      ids.push(JSON.parse(await cli('accounts', 'create', ...flags, '--json')).account.id);
    }
    await call('/v1/webhooks', JSON.stringify(webhook({ endpoint: `${receiver.url}/image` })));
    const movements = (await readFile(join(ROOT, 'examples/movements.ndjson'), 'utf8')).trim().split('\n');
    const ndjson = movements.map((line) =>
      line.replace(/"account_id":"(\d+)"/, (_all, ref) => `"account_id":"${ids[ref - 1]}"`),
    );
    await call('/v1/imports', ndjson.join('\n'), 'application/x-ndjson');
    await until('all are delivered', () => receiver.at('/image').length === movements.length, 120_000);
    mysql.close();
    redis.close();
  });
});
