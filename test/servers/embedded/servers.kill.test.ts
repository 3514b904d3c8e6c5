import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test, vi } from 'vitest';
import { identify } from '../../../src/servers/embedded/process-identity.ts';
import { startEmbedded } from '../../../src/servers/embedded.ts';
import { ask, tell } from './clients.ts';
import { temporaryDirectory } from './directory.ts';

function spawnService(dataDir: string): ChildProcess {
  const fixture = join(import.meta.dirname, 'service.fixture.ts');
  const service = spawn(process.execPath, ['--import', 'tsx', fixture, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    service.kill('SIGKILL');
  });
  return service;
}

async function urlsFrom(service: ChildProcess): Promise<{ databaseUrl: string; redisUrl: string }> {
  if (service.stdout === null) {
    throw new Error('The service was started without a pipe.');
  }
  const [line] = await once(createInterface(service.stdout), 'line');
  return JSON.parse(line);
}

async function killed(service: ChildProcess): Promise<void> {
  service.kill('SIGKILL');
  await once(service, 'exit');
}

async function startHere(dataDir: string) {
  const servers = await startEmbedded({
    dataDir,
    mysql: true,
    redis: true,
    install: 'never',
    announce: () => {},
  });
  onTestFinished(() => servers.stop());
  return { databaseUrl: servers.databaseUrl ?? '', redisUrl: servers.redisUrl ?? '' };
}

async function pidOf(dataDir: string, server: string): Promise<number> {
  return JSON.parse(await readFile(join(dataDir, `${server}.json`), 'utf8')).pid;
}

test('the next start ends the servers that a killed service left running, and the data is intact', async () => {
  const dataDir = await temporaryDirectory();
  const service = spawnService(dataDir);
  const { databaseUrl, redisUrl } = await urlsFrom(service);
  await ask(databaseUrl, 'CREATE TABLE kept (id INT); INSERT INTO kept VALUES (7)');
  await tell(redisUrl, 'SET', 'kept', 'seven');
  await killed(service);
  const orphans = [await pidOf(dataDir, 'mysql'), await pidOf(dataDir, 'redis')];
  expect(orphans.map((pid) => identify(pid)?.pid)).toEqual(orphans);

  const next = await startHere(dataDir);
  expect(orphans.map(identify)).toEqual([null, null]);
  expect(await ask(next.databaseUrl, 'SELECT id FROM kept')).toEqual([{ id: 7 }]);
  expect(await tell(next.redisUrl, 'GET', 'kept')).toBe('seven');
});

test('a service that is killed together with its servers starts again', async () => {
  const dataDir = await temporaryDirectory();
  const service = spawnService(dataDir);
  const { databaseUrl, redisUrl } = await urlsFrom(service);
  await ask(databaseUrl, 'CREATE TABLE kept (id INT); INSERT INTO kept VALUES (7)');
  await tell(redisUrl, 'SET', 'kept', 'seven');
  const pids = [await pidOf(dataDir, 'mysql'), await pidOf(dataDir, 'redis')];
  await killed(service);
  for (const pid of pids) {
    process.kill(pid, 'SIGKILL');
  }

  const next = await startHere(dataDir);
  expect(await ask(next.databaseUrl, 'SELECT id FROM kept')).toEqual([{ id: 7 }]);
  expect(await tell(next.redisUrl, 'GET', 'kept')).toBe('seven');
});

test('a service that is killed while its first data directory is being created starts again', async () => {
  const dataDir = await temporaryDirectory();
  const service = spawnService(dataDir);
  await vi.waitFor(
    async () =>
      expect((await readdir(dataDir)).some((name) => name.startsWith('mysql.unfinished'))).toBe(true),
    { timeout: 30_000, interval: 5 },
  );
  await killed(service);
  expect(await readdir(dataDir)).not.toContain('mysql');

  const next = await startHere(dataDir);
  expect(await ask(next.databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect((await readdir(dataDir)).filter((name) => name.includes('unfinished'))).toEqual([]);
});

test("the terminal's Ctrl-C reaches the service but not its servers", async () => {
  const dataDir = await temporaryDirectory();
  await startHere(dataDir);
  for (const server of ['mysql', 'redis']) {
    const pid = await pidOf(dataDir, server);
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    expect(group).toBe(String(pid));
  }
});
