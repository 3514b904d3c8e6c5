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
import { movement } from '../support/movements.ts';
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

describe('a command without configured servers', () => {
  it('does not create a database when DATA_DIR is probably the wrong folder', async () => {
    const path = join(dataDir, 'nowhere.json');
    await writeFile(path, '{}');
    const other = join(dataDir, 'other');
    const refused = (...args: string[]) => cli(args, { DATA_DIR: other }).then(reasonOf);
    const expected = `There is no database in ${other}, and no service runs on it.`;
    expect(await refused('customers', 'list')).toMatch(
      new RegExp(`^error: ${expected} Set DATA_DIR to the folder of your service\\. `),
    );
    expect(await refused('webhooks', 'list', '--customer', '1')).toContain(expected);
    expect(await refused('import', path, '--key', 'lb_k')).toMatch(
      new RegExp(`^error: Nothing answers at .* ${expected}`),
    );
    expect(existsSync(other)).toBe(false);
  });

  it('starts and migrates embedded servers while it runs, and the next command finds its data', async () => {
    const made = answerOf(await cli(['customers', 'create', '--name', 'Gömülü', '--json']));
    expect(await findRunning(dataDir)).toBeNull();
    const { customers } = answerOf(await cli(['customers', 'list', '--json']));
    expect(customers).toMatchObject([made.customer]);
  });

  it('starts no embedded servers with EMBEDDED=never', async () => {
    const path = join(dataDir, 'refused.json');
    await writeFile(path, '{}');
    const never = { EMBEDDED: 'never' };
    expect(reasonOf(await cli(['customers', 'list'], never))).toMatch(/^error: DATABASE_URL must be set: /);
    expect(reasonOf(await cli(['import', path, '--key', 'k'], never))).toContain('Nothing answers at');
  });

  it('creates a new secret key, and reseals with it the secrets sealed with the former one', async () => {
    const key = join(dataDir, 'secret.key');
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
    answerOf(await cli(['customers', 'list', '--json']));
  });

  it('starts the whole service for an import, until the import is done', async () => {
    const { customer, api_key: key } = answerOf(
      await cli(['customers', 'create', '--name', 'İthal', '--json']),
    );
    const { account } = answerOf(
      await cli([
        'accounts',
        'create',
        '--customer',
        customer.id,
        '--bank',
        'Ziraat',
        '--title',
        'Ana',
        '--currency',
        'TRY',
        '--json',
      ]),
    );
    const path = join(dataDir, 'movements.json');
    await writeFile(path, JSON.stringify({ transactions: [movement(account.id)] }));
    const { import: done } = answerOf(await cli(['import', path, '--key', key, '--json']));
    expect(done).toMatchObject({ status: 'done', inserted: 1 });
    expect(await findRunning(dataDir)).toBeNull();
  });

  it('uses the servers of a service that runs on the same DATA_DIR', async () => {
    const config = readConfig({ DATA_DIR: dataDir, PORT: '0' });
    const service = await startService({
      config,
      roles: ROLES,
      log: createLog('silent'),
      announce: () => {},
    });
    onTestFinished(() => service.stop());
    const { customer } = answerOf(await cli(['customers', 'create', '--name', 'Yandaki', '--json']));
    const [row] = await service.runtime.database.query<{ name: string }[]>(
      'SELECT name FROM customers WHERE id = ?',
      [customer.id],
    );
    expect(row?.name).toBe('Yandaki');
    // The service is there, but not where this configuration has it: it is not started a second time.
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
