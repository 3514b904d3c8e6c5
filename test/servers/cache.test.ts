import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { installOnce } from './cache.ts';

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-cache-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const fill = (text: string) => vi.fn((folder: string) => writeFile(join(folder, 'file'), text));

test('a complete installation is used as it is, and everybody can read it', async () => {
  const cache = await emptyFolder();
  const options = { folders: [cache] as [string] };
  const build = fill('first');
  const home = await installOnce('server', build, options);

  expect(home).toBe(join(cache, 'server'));
  expect((await stat(home)).mode & 0o777).toBe(0o755);
  expect(await installOnce('server', build, options)).toBe(home);
  expect(build).toHaveBeenCalledTimes(1);
});

test('an installation in another folder is used, and nothing is written', async () => {
  const [own, theirs] = [await emptyFolder(), await emptyFolder()];
  await mkdir(join(theirs, 'server'));
  const build = fill('');
  expect(await installOnce('server', build, { folders: [own, theirs] })).toBe(join(theirs, 'server'));
  expect(build).not.toHaveBeenCalled();
  expect(await readdir(own)).toEqual([]);
});

test('a build that fails or is cut short leaves no installation', async () => {
  const cache = await emptyFolder();
  const folders: [string] = [cache];
  const failing = async (folder: string) => {
    await fill('half')(folder);
    throw new Error('No space left.');
  };
  await expect(installOnce('server', failing, { folders })).rejects.toThrow('No space left.');
  expect(await readdir(cache)).toEqual([]);

  const stopping = new AbortController();
  const cut = async (folder: string) => {
    await fill('half')(folder);
    stopping.abort();
  };
  await expect(installOnce('server', cut, { folders, signal: stopping.signal })).rejects.toThrow('aborted');
  expect(await readdir(cache)).toEqual([]);
});

test('an installation that was killed in the middle is started anew', async () => {
  const cache = await emptyFolder();
  const script = `
    const { installOnce } = await import(${JSON.stringify(join(import.meta.dirname, 'cache.ts'))});
    await installOnce('server', () => new Promise(() => setInterval(() => {}, 1_000)), { folders: [${JSON.stringify(cache)}] });
  `;
  const killed = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => {
    killed.kill('SIGKILL');
  });
  await vi.waitFor(
    async () => expect((await readdir(cache)).some((name) => name.includes('unfinished'))).toBe(true),
    30_000,
  );
  const ended = once(killed, 'exit');
  killed.kill('SIGKILL');
  await ended;

  const home = await installOnce('server', fill('second'), { folders: [cache] });
  expect(await readFile(join(home, 'file'), 'utf8')).toBe('second');
  expect(await readdir(cache)).toEqual(['server']);
});

test('one of two simultaneous installations builds, and the other waits for it', async () => {
  const cache = await emptyFolder();
  const folders: [string] = [cache];
  const builds: string[] = [];
  const build = async (folder: string) => {
    builds.push(folder);
    expect(existsSync(join(cache, 'server'))).toBe(false);
    await fill('once')(folder);
  };
  const homes = await Promise.all([1, 2, 3].map(() => installOnce('server', build, { folders })));
  expect(new Set(homes)).toEqual(new Set([join(cache, 'server')]));
  expect(builds).toHaveLength(1);
  expect(await readdir(cache)).toEqual(['server']);
});
