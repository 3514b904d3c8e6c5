import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startOnSomePort } from '../../../src/cli/demo/demo.ts';
import { createScreen } from '../../../src/cli/demo/screen.ts';
import { readConfig } from '../../../src/platform/config.ts';
import { findRunning } from '../../../src/servers/running-servers.ts';
import { findDirectory } from '../../servers/start.ts';
import { useDatabase } from '../../support/database.ts';
import { useRedisDatabase } from '../../support/redis-database.ts';
import { until } from '../../support/until.ts';
import { finish, spawnProgram } from './spawn-demo.ts';

const { url } = useDatabase();
const redisUrl = useRedisDatabase();
let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(await findDirectory(), 'ledgerbell-demo-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const spawnDemo = (args: readonly string[], env: Record<string, string> = {}) =>
  spawnProgram('cli/demo', args, { DATA_DIR: dataDir, PORT: '0', ...env });

describe('the demo', () => {
  it('shows every expected delivery verified, and stays up with pages and a listing, until Ctrl-C', async () => {
    const child = spawnDemo([]);
    const finished = finish(child);
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await finished;
    });
    let shown = '';
    child.stdout?.on('data', (part: Buffer) => {
      shown += part;
    });
    await until('the demo to be over', () => shown.includes('Ctrl-C ends the demo.'));
    const [line] = shown.trim().split('\n');
    expect(line).toBe(
      'Ledgerbell: a bank statement goes in, signed notifications come out, and every one is checked.',
    );
    const rows = [
      ...shown.matchAll(/^ {2}(Everything|Debits only|One account) .* (\d+) +(\d+) +(\d+) +(\d+)$/gm),
    ];
    expect(rows.map(([, title]) => title)).toEqual(['Everything', 'Debits only', 'One account']);
    for (const [, , matched, delivered, , verified] of rows) {
      expect(Number(matched)).toBeGreaterThan(0);
      expect([delivered, verified]).toEqual([matched, matched]);
    }
    const retried = rows.map(([, , , , times]) => Number(times) > 0);
    expect(retried).toEqual([false, true, false]);
    expect(shown).toContain('The same file sent again: 0 new, 520 known already');
    expect(shown).toContain(
      'A month of another account as MT940: 10 stored, on the account that the file names',
    );
    expect(shown).toContain('The same month as CAMT: 0 new, 10 known already');
    expect(shown).toContain('stored in total: 532 movements; duplicates stored: 0');
    expect(shown).toContain('✔ Every expected notification was delivered, received and verified.');

    const pages = [...shown.matchAll(/^ {2}(?:Docs|Console|Queues) +(http\S+)$/gm)].map(
      ([, url = '']) => url,
    );
    expect(pages).toHaveLength(3);
    for (const url of pages) expect((await fetch(url)).status, url).toBe(200);
    const [, key = '', listing = ''] = /curl -s -H 'Authentication: (\S+)' '(\S+)'/.exec(shown) ?? [];
    const answer = await fetch(listing, { headers: { Authentication: key } });
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as { transactions: unknown[] }).transactions).toHaveLength(3);

    const second = await finish(spawnDemo(['--once']));
    expect(second.code).toBe(1);
    expect(second.stdout).toMatch(/^ {2}✘ DATA_DIR \S+ is in use by process \d+\. [^\n]+\n$/m);

    child.kill('SIGINT');
    const { code, stderr } = await finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await findRunning(join(dataDir, 'demo'))).toBeNull();
  });

  it('explains its options with --help, and starts nothing', async () => {
    const { code, stdout, stderr } = await finish(spawnDemo(['--help']));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const option of ['--trouble', '--once', '--help']) expect(stdout).toContain(`\n  ${option} `);
  });

  it('explains a wrong configuration in one line', async () => {
    const { code, stdout, stderr } = await finish(spawnDemo(['--once'], { PORT: 'wrong' }));
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toBe('  ✘ PORT must be a port from 0 (any free one) to 65535.\n');
  });

  it('takes another port when its own is taken after it was checked', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const service = await startOnSomePort({
      config: readConfig({
        DATABASE_URL: url,
        REDIS_URL: redisUrl,
        SECRET_KEY: randomBytes(32).toString('base64'),
        PORT: String(port),
        LOG_LEVEL: 'silent',
      }),
      screen: createScreen({ write: () => true }),
      signal: new AbortController().signal,
    });
    onTestFinished(() => service.stop());
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect(new URL(service.url).port).not.toBe(String(port));
  });
});
