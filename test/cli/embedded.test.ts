import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ROLES, readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { findRunning } from '../../src/servers/running-servers.ts';
import { startService } from '../../src/service.ts';
import { type Finished, reasonOf, runHere } from './command.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'ledgerbell-cli-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const cli = (args: readonly string[], env: Record<string, string> = {}): Promise<Finished> =>
  runHere(args, { DATA_DIR: dataDir, PORT: '1', ...env });

/** The document is alone on stdout, whatever is announced. */
function answerOf({ code, stdout, stderr }: Finished) {
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^[^\n]+\n$/);
  return JSON.parse(stdout);
}

async function start() {
  const config = readConfig({ DATA_DIR: dataDir, PORT: '0' });
  const log = createLog('silent');
  const service = await startService({ config, roles: ROLES, log, announce: () => {} });
  onTestFinished(() => service.stop());
  return service;
}

describe('a command without a service', () => {
  it('says in one line where it has looked and how to start one, and starts nothing', async () => {
    const path = join(dataDir, 'nowhere.json');
    await writeFile(path, '{}');
    const other = join(dataDir, 'other');
    const refused = (...args: string[]) => cli(args, { DATA_DIR: other }).then(reasonOf);
    for (const args of [
      ['customers', 'create', '--name', 'x'],
      ['customers', 'list'],
      ['webhooks', 'list', '--customer', '1'],
      ['webhooks', 'show', '1'],
      ['webhooks', 'list'],
      ['verify', '--account', '1'],
      ['operators', 'tokens', 'list'],
    ])
      expect(await refused(...args)).toMatch(
        new RegExp(
          `^error: No running service .* DATA_DIR ${other}: start one \\(.*start\\), or .* http://127\\.0\\.0\\.1:2\\.$`,
        ),
      );
    for (const args of [
      ['import', path, '--key', 'lb_k'],
      ['webhooks', 'list', '--key', 'lb_k'],
    ])
      expect(await refused(...args)).toMatch(
        /^error: Nothing answers at http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)\. Start the service \(.*start\), or /,
      );
    expect(existsSync(other)).toBe(false);
  });
});

describe('a command that works without a service', () => {
  it('does not create a database when DATA_DIR is probably the wrong folder', async () => {
    const other = join(dataDir, 'other');
    for (const command of [['skip-ids'], ['secrets', 'reseal']])
      expect(reasonOf(await cli(command, { DATA_DIR: other }))).toMatch(
        new RegExp(`^error: There is no database in ${other}, and no service runs on it\\. Set DATA_DIR to `),
      );
    expect(existsSync(other)).toBe(false);
  });

  it('starts and migrates an embedded MySQL while it runs', async () => {
    expect(answerOf(await cli(['migrate', '--json'])).migrated).not.toEqual([]);
    expect(await findRunning(dataDir)).toBeNull();
    expect(answerOf(await cli(['skip-ids', '--json']))).toHaveProperty('next_ids');
    expect(await findRunning(dataDir)).toBeNull();
  });

  it('starts no embedded MySQL with EMBEDDED=never', async () => {
    expect(reasonOf(await cli(['skip-ids'], { EMBEDDED: 'never' }))).toMatch(
      /^error: DATABASE_URL must be set: /,
    );
  });

  it('creates a new secret key, and reseals with it the secrets sealed with the former one', async () => {
    const key = join(dataDir, 'secret.key');
    const service = await start();
    answerOf(await cli(['customers', 'create', '--name', 'Gömülü', '--json']));
    await service.stop();
    const former = await readFile(key, 'utf8');
    await rename(key, `${key}.old`);
    expect(reasonOf(await cli(['secrets', 'reseal'], { EMBEDDED: 'auto' }))).toMatch(
      /SECRET_KEY is not the one/,
    );
    const previous = { SECRET_KEY_PREVIOUS_FILE: `${key}.old` };
    const answer = answerOf(await cli(['secrets', 'reseal', '--json'], previous));
    expect(answer).toMatchObject({ remaining: 0, unreadable: [] });
    expect(answer.resealed).toBeGreaterThan(0);
    expect(await readFile(key, 'utf8')).not.toBe(former);
    answerOf(await cli(['skip-ids', '--json']));
  });
});

describe('a command with a service that runs on the same DATA_DIR', () => {
  it('finds it whatever its port is, and uses its MySQL', async () => {
    const service = await start();
    const { customer } = answerOf(await cli(['customers', 'create', '--name', 'Yandaki', '--json']));
    const [row] = await service.runtime.database.query<{ name: string }[]>(
      'SELECT name FROM customers WHERE id = ?',
      [customer.id],
    );
    expect(row?.name).toBe('Yandaki');
    expect(answerOf(await cli(['secrets', 'reseal', '--json']))).toMatchObject({ remaining: 0 });
    // The API is not where this configuration has it.
    const path = join(dataDir, 'nothing.json');
    await writeFile(path, '{}');
    expect(reasonOf(await cli(['import', path, '--key', 'k']))).toContain(
      'Nothing answers at http://127.0.0.1:1',
    );
  });

  it('does not mistake another program for the service', async () => {
    const stranger = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void stranger.close());
    await new Promise((resolve) => stranger.once('listening', resolve));
    const address = stranger.address();
    const PORT = typeof address === 'object' && address !== null ? String(address.port) : '';
    const path = join(dataDir, 'stranger.json');
    await writeFile(path, '{}');
    expect(reasonOf(await cli(['import', path, '--key', 'k'], { PORT }))).toContain(
      'is that really the service?',
    );
  });
});
