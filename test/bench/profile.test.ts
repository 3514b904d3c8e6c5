import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { renderProfiles, summariseProfile } from '../../bench/profile.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-profile-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it('a profile shows how a process spent its time', async () => {
  const script = `
    const { createHash } = require('node:crypto');
    const end = performance.now() + 300;
    while (performance.now() < end) createHash('sha256').update('x'.repeat(1e6)).digest();
    setTimeout(() => {}, 300);`;
  const options = ['--cpu-prof', `--cpu-prof-dir=${directory}`, '--cpu-prof-name=1-hasher.cpuprofile'];
  await promisify(execFile)(process.execPath, [...options, '-e', script]);

  const [file = ''] = await readdir(directory);
  const { busy, parts } = summariseProfile(JSON.parse(await readFile(join(directory, file), 'utf8')));
  expect(busy).toBeGreaterThan(0.3);
  expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  expect(parts[0]?.share).toBeGreaterThan(0.3);
  expect(parts.map(({ name }) => name)).not.toContain('(idle)');

  const [heading, row] = await renderProfiles(directory);
  expect(heading).toContain('busy');
  expect(row).toMatch(/^1-hasher/);
});

it("a profile names packages, folders of the source, and Node's own work", () => {
  const frame = (id: number, functionName: string, url: string) => ({ id, callFrame: { functionName, url } });
  const { parts } = summariseProfile({
    nodes: [
      frame(1, 'query', 'file:///app/node_modules/mysql2/lib/connection.js'),
      frame(2, 'digest', 'file:///app/node_modules/@noble/hashes/sha.js'),
      frame(3, 'run', 'file:///app/dist/src/delivery/run.js'),
      frame(4, 'emit', 'node:events'),
      frame(5, 'writev', ''),
      frame(6, '(idle)', ''),
    ],
    samples: [1, 2, 3, 4, 5, 6],
    timeDeltas: [50, 20, 15, 10, 5, 900],
  });
  expect(parts).toEqual([
    { name: 'mysql2', share: 0.5 },
    { name: '@noble/hashes', share: 0.2 },
    { name: 'src/delivery', share: 0.15 },
    { name: 'Node', share: 0.1 },
    { name: 'writev', share: 0.05 },
  ]);
});
