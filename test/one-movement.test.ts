import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { useServers } from './support/service-processes.ts';

const ROOT = join(import.meta.dirname, '..');
const servers = useServers();

/** Shared files of these rooms may be left out of the order. */
const SHARED = /^src\/(?:platform|database)\//;
const MOST_SHARED = 10;

/** The page rounds the number of lines. */
const ROUNDED_BY = 0.1;

const inRepository = (path: string) => (path.startsWith('packages/') ? path : `src/${path}`);

it('docs/architecture/rooms.md names every file of which a function runs for one movement, and how many lines these functions have', async () => {
  const [, page = ''] = readFileSync(join(ROOT, 'docs/architecture/rooms.md'), 'utf8').split(
    '## One movement, file by file\n',
  );
  const [section = ''] = page.split('\n## ');
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  const ordered = rows.flatMap((row) =>
    [...row.matchAll(/`([\w.-]+\/[\w./-]+)`/g)].map(([, path = '']) => path),
  );
  const [, others = ''] = /^Shared files, in no order: (.*)\.$/m.exec(section) ?? [];
  const shared = [...others.matchAll(/`([\w./-]+)`/g)].map(([, path = '']) => path);

  const fixture = join(import.meta.dirname, 'one-movement.fixture.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', fixture], {
    env: { PATH: process.env.PATH ?? '', ...servers },
    cwd: ROOT,
  });
  const lines: Record<string, number> = JSON.parse(stdout);
  const ran = Object.keys(lines).toSorted();
  expect([...ordered, ...shared].map(inRepository).toSorted()).toEqual(ran);
  expect(shared.filter((path) => !SHARED.test(inRepository(path)))).toEqual([]);
  expect(shared.length).toBeLessThanOrEqual(MOST_SHARED);

  const [, said = ''] = /These functions have about ([\d,]+) lines/.exec(section) ?? [];
  const total = Object.values(lines).reduce((sum, it) => sum + it, 0);
  const difference = Math.abs(total / Number(said.replaceAll(',', '')) - 1);
  expect({ total, by: lines, isAsSaid: difference < ROUNDED_BY }).toMatchObject({ isAsSaid: true });
});
