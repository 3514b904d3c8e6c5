import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type EmbeddedServers, startEmbedded } from '../../../src/servers/embedded.ts';
import { findRunning } from '../../../src/servers/running-servers.ts';
import { as, ask, tell } from './clients.ts';
import { modeOf, temporaryDirectory } from './directory.ts';

interface Started extends EmbeddedServers {
  databaseUrl: string;
  redisUrl: string;
}

async function start(dataDir: string, announce: (line: string) => void = () => {}): Promise<Started> {
  const servers = await startEmbedded({ dataDir, mysql: true, redis: true, install: 'never', announce });
  onTestFinished(() => servers.stop());
  const { databaseUrl = '', redisUrl = '' } = servers;
  return { databaseUrl, redisUrl, stop: servers.stop };
}

async function recordOf(dataDir: string, server: string): Promise<{ pid: number; socket: string }> {
  return JSON.parse(await readFile(join(dataDir, `${server}.json`), 'utf8'));
}

test('both servers accept their password, and refuse clients without it', async () => {
  const dataDir = await temporaryDirectory();
  const { databaseUrl, redisUrl } = await start(dataDir);

  expect(await ask(databaseUrl, 'SELECT DATABASE() AS name')).toEqual([{ name: 'ledgerbell' }]);
  expect(await tell(redisUrl, 'PING')).toBe('PONG');

  await expect(tell(as(redisUrl, '', ''), 'PING')).rejects.toThrow('NOAUTH');
  await expect(tell(as(redisUrl, '', ''), 'AUTH', 'wrong')).rejects.toThrow('WRONGPASS');
  for (const [user, password] of [
    ['ledgerbell', ''],
    ['ledgerbell', 'wrong'],
    ['root', ''],
    ['', ''],
  ] as const) {
    await expect(ask(as(databaseUrl, user, password), 'SELECT 1'), `user "${user}"`).rejects.toThrow(
      'Access denied',
    );
  }
});

test('the servers have no port, and their passwords are in no command line and in no file that others can read', async () => {
  const dataDir = await temporaryDirectory();
  const { databaseUrl, redisUrl } = await start(dataDir);

  expect(await ask(databaseUrl, 'SELECT @@skip_networking AS closed')).toEqual([{ closed: 1 }]);
  expect(await tell(redisUrl, 'CONFIG', 'GET', 'port')).toEqual(['port', '0']);
  const passwords = [new URL(databaseUrl).password, new URL(redisUrl).password];
  for (const server of ['mysql', 'redis']) {
    const { pid } = await recordOf(dataDir, server);
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    expect(commandLine).toMatch(server === 'mysql' ? /mysql\.cnf/ : /redis|valkey/);
    expect(passwords.filter((password) => commandLine.includes(password))).toEqual([]);
  }
  expect(await modeOf(dataDir)).toBe('700');
  for (const entry of await readdir(dataDir, { withFileTypes: true })) {
    if (entry.isFile()) {
      expect(`${entry.name} ${await modeOf(join(dataDir, entry.name))}`).toBe(`${entry.name} 600`);
    } else if (entry.isDirectory()) {
      expect(`${entry.name} ${await modeOf(join(dataDir, entry.name))}`).toBe(`${entry.name} 700`);
    }
  }
});

test('the servers keep acknowledged data, evict nothing, and use utf8mb4 and UTC', async () => {
  const dataDir = await temporaryDirectory();
  const { databaseUrl, redisUrl } = await start(dataDir);

  const [settings] = await ask(
    databaseUrl,
    `SELECT @@innodb_flush_log_at_trx_commit AS flush, @@log_bin AS log_bin, @@global.time_zone AS zone,
            @@innodb_autoinc_lock_mode AS autoinc, @@collation_database AS collation, @@performance_schema AS perf,
            @@innodb_buffer_pool_size DIV 1048576 AS pool, @@innodb_flush_method AS method,
            @@innodb_lock_wait_timeout AS wait, @@max_connections AS connections, @@max_allowed_packet AS packet,
            @@tmpdir AS temporary`,
  );
  expect(settings).toEqual({
    flush: 1,
    log_bin: 0,
    zone: '+00:00',
    autoinc: 2,
    collation: 'utf8mb4_unicode_ci',
    perf: 0,
    pool: expect.any(Number),
    method: expect.any(String),
    wait: 10,
    connections: 300,
    packet: 64 * 1024 * 1024,
    temporary: join(dataDir, 'mysql-temporary'),
  });
  expect(Number(settings?.pool)).toBeGreaterThanOrEqual(128);
  // Newer versions of MariaDB list this under both of its names.
  const isolation = await ask(databaseUrl, "SHOW GLOBAL VARIABLES LIKE 't%_isolation'");
  expect(new Set(isolation.map(({ Value }) => Value))).toEqual(new Set(['READ-COMMITTED']));
  for (const [name, value] of [
    ['appendonly', 'yes'],
    ['appendfsync', 'everysec'],
    ['maxmemory-policy', 'noeviction'],
  ] as const) {
    expect(await tell(redisUrl, 'CONFIG', 'GET', name)).toEqual([name, value]);
  }
});

test('the data and the passwords survive a restart', async () => {
  const dataDir = await temporaryDirectory();
  const first = await start(dataDir);
  await ask(
    first.databaseUrl,
    'CREATE DATABASE other; CREATE TABLE other.kept (id INT); INSERT INTO other.kept VALUES (7)',
  );
  await tell(first.redisUrl, 'SET', 'kept', 'seven');
  await first.stop();
  await expect(ask(first.databaseUrl, 'SELECT 1')).rejects.toThrow();

  const second = await start(dataDir);
  expect(second).toMatchObject({ databaseUrl: first.databaseUrl, redisUrl: first.redisUrl });
  expect(await ask(second.databaseUrl, 'SELECT id FROM other.kept')).toEqual([{ id: 7 }]);
  expect(await tell(second.redisUrl, 'GET', 'kept')).toBe('seven');
});

test('a running service is found by its data directory, and a stopped service is not', async () => {
  const dataDir = await temporaryDirectory();
  expect(await findRunning(dataDir)).toBeNull();
  const { databaseUrl, redisUrl, stop } = await start(dataDir);
  expect(await findRunning(dataDir)).toEqual({ databaseUrl, redisUrl });
  await stop();
  expect(await findRunning(dataDir)).toBeNull();
});

test('stopping twice has the effect of stopping once, and leaves no process record', async () => {
  const dataDir = await temporaryDirectory();
  const { stop } = await start(dataDir);
  await Promise.all([stop(), stop()]);
  await stop();
  expect((await readdir(dataDir)).filter((name) => /\.(json|sock|tmp)$/.test(name))).toEqual([]);
});

test('a second start on the same data directory is refused with the directory and pid, and the first service goes on', async () => {
  const dataDir = await temporaryDirectory();
  const { databaseUrl, redisUrl } = await start(dataDir);

  const second = start(dataDir);
  await expect(second).rejects.toThrow(`DATA_DIR ${dataDir} is in use by process ${process.pid}`);
  expect(await ask(databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(await tell(redisUrl, 'PING')).toBe('PONG');
  expect(await findRunning(dataDir)).toEqual({ databaseUrl, redisUrl });
});

test.each(['mysql', 'redis'] as const)(
  '%s restarts by itself after it is killed, with an announcement',
  async (server) => {
    const dataDir = await temporaryDirectory();
    const announced: string[] = [];
    const { databaseUrl, redisUrl } = await start(dataDir, (line) => announced.push(line));
    await ask(databaseUrl, 'CREATE TABLE kept (id INT); INSERT INTO kept VALUES (7)');
    await tell(redisUrl, 'SET', 'kept', 'seven');

    const { pid } = await recordOf(dataDir, server);
    process.kill(pid, 'SIGKILL');

    await vi.waitFor(async () => expect((await recordOf(dataDir, server)).pid).not.toBe(pid), 30_000);
    await vi.waitFor(() => ask(databaseUrl, 'SELECT 1'), 30_000);
    await vi.waitFor(() => tell(redisUrl, 'PING'), 30_000);
    expect(await ask(databaseUrl, 'SELECT id FROM kept')).toEqual([{ id: 7 }]);
    expect(await tell(redisUrl, 'GET', 'kept')).toBe('seven');
    expect(announced).toEqual([expect.stringMatching(/ended unexpectedly \(signal SIGKILL\)/)]);
  },
);

test('stopping the service while a killed server restarts ends that server for good', async () => {
  const dataDir = await temporaryDirectory();
  const announced: string[] = [];
  const { databaseUrl, stop } = await start(dataDir, (line) => announced.push(line));
  process.kill((await recordOf(dataDir, 'mysql')).pid, 'SIGKILL');
  await vi.waitFor(() => expect(announced).toHaveLength(1), 30_000);

  await stop();
  await expect(ask(databaseUrl, 'SELECT 1')).rejects.toThrow();
  expect((await readdir(dataDir)).filter((name) => /\.(json|sock)$/.test(name))).toEqual([]);
});

test('a data directory with a long path and a space works, because its sockets are elsewhere', async () => {
  const dataDir = join(await temporaryDirectory(), 'with a space', 'd'.repeat(120));
  const { databaseUrl, redisUrl, stop } = await start(dataDir);
  expect(await ask(databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(await tell(redisUrl, 'PING')).toBe('PONG');

  const { socket } = await recordOf(dataDir, 'mysql');
  expect(socket.startsWith(dataDir)).toBe(false);
  expect(await modeOf(join(socket, '..'))).toBe('700');
  await stop();
  await expect(modeOf(join(socket, '..'))).rejects.toThrow('ENOENT');
});

test('when one server does not start, the error shows the end of its log, and the other server is ended', async () => {
  const dataDir = await temporaryDirectory();
  await mkdir(join(dataDir, 'redis', 'appendonlydir'), { recursive: true });
  await writeFile(join(dataDir, 'redis', 'appendonlydir', 'appendonly.aof.manifest'), 'not a manifest\n');

  const failure = start(dataDir);
  await expect(failure).rejects.toThrow(`Redis ended while it was starting (exit code 1)`);
  await expect(failure).rejects.toThrow(join(dataDir, 'redis.log'));
  await expect(failure).rejects.toThrow(/AOF manifest/);
  expect((await readdir(dataDir)).filter((name) => /\.(json|sock)$/.test(name))).toEqual([]);
});

test('a server that is not wanted is not started', async () => {
  const dataDir = await temporaryDirectory();
  const servers = await startEmbedded({
    dataDir,
    mysql: false,
    redis: true,
    install: 'never',
    announce: () => {},
  });
  onTestFinished(() => servers.stop());
  expect(servers.databaseUrl).toBeUndefined();
  expect(await tell(servers.redisUrl ?? '', 'PING')).toBe('PONG');
  expect(await readdir(dataDir)).not.toContain('mysql');
});
