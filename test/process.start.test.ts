import { randomBytes } from 'node:crypto';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataSource } from '../src/database/data-source.ts';
import { migrate } from '../src/database/migrate.ts';
import { startEmbedded } from '../src/servers/embedded.ts';
import { findRunning } from '../src/servers/running-servers.ts';
import type { ServiceProcess } from './support/process.ts';
import { processesIn } from './support/processes-in.ts';
import { useServiceProcesses } from './support/service-processes.ts';
import { until } from './support/until.ts';

const { start, newDirectory } = useServiceProcesses();

describe('SIGTERM during the start', () => {
  const there = (directory: string, path: string) =>
    access(join(directory, path)).then(
      () => true,
      () => false,
    );
  const names = (directory: string) => readdir(directory).catch(() => [] as string[]);

  it.each([
    [
      'while the data directory of MySQL is made',
      async (directory: string) =>
        (await names(directory)).some((name) => name.startsWith('mysql.unfinished')),
      {},
    ],
    ['while MySQL starts', (directory: string) => there(directory, 'mysql.json'), {}],
    ['while Redis starts', (directory: string) => there(directory, 'redis.json'), {}],
    ['when both answer', async (directory: string) => (await findRunning(directory)) !== null, {}],
    ['while the tables are made', (directory: string) => there(directory, 'mysql/ledgerbell/banks.ibd'), {}],
    [
      'while it waits for a Redis that is unreachable',
      async (_: string, service: ServiceProcess) => /Waiting for Redis/.test(service.said),
      { REDIS_URL: 'redis://127.0.0.1:1' },
    ],
  ])('%s leaves no server running', async (moment, isReached, env: Record<string, string>) => {
    const directory = await newDirectory();
    const service = start({ DATA_DIR: directory, ...env });
    await until(moment, () => isReached(directory, service));
    const code = await service.end('SIGTERM');
    await until('nothing left', async () => (await processesIn(directory)).length === 0, 5_000);
    expect(service.said).not.toMatch(/cannot/);
    // On a busy machine a server may need longer than ten seconds to stop: then it was killed, and its files are still there.
    expect([0, 1]).toContain(code);
    const left = (await names(directory)).filter((name) => /\.(json|sock)$|unfinished/.test(name));
    if (code === 0) expect(left).toEqual([]);
  });
});

it('the service waits for MySQL and the schema, and says which of them it waits for', async () => {
  const dataDir = await newDirectory();
  const embedded = { dataDir, mysql: true, redis: true, install: 'never' as const, announce: () => {} };
  const { databaseUrl = '', redisUrl = '', stop } = await startEmbedded(embedded);
  await stop();
  const service = start({
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    SECRET_KEY: randomBytes(32).toString('base64'),
    DATA_DIR: await newDirectory(),
  });
  await until('it waits for MySQL', () => /Waiting for MySQL/.test(service.said));
  const servers = await startEmbedded(embedded);
  await until('it waits for the schema', () =>
    /Waiting for the database schema: .*migrate/.test(service.said),
  );
  const database = await createDataSource(databaseUrl).initialize();
  await migrate(database);
  await database.destroy();
  const ready = await fetch(`${await service.url()}/readyz`);
  expect(ready.status).toBe(200);
  expect(await service.end('SIGINT')).toBe(0);
  await servers.stop();
});

it('the service works with a database that a newer version has migrated, and says so, unless the database requires a newer version', async () => {
  const dataDir = await newDirectory();
  const first = start({ DATA_DIR: dataDir });
  await first.url();
  const { databaseUrl = '' } = (await findRunning(dataDir)) ?? {};
  const database = await createDataSource(databaseUrl).initialize();
  await database.query(
    "INSERT INTO migrations (timestamp, name) VALUES (1863700000000, 'Newer1863700000000')",
  );
  await database.destroy();
  expect(first.said).not.toContain('A newer version');
  expect(await first.end('SIGTERM')).toBe(0);

  const second = start({ DATA_DIR: dataDir });
  expect((await fetch(`${await second.url()}/readyz`)).status).toBe(200);
  expect(second.said).toContain('A newer version has migrated this database (Newer1863700000000)');
  const later = await createDataSource((await findRunning(dataDir))?.databaseUrl ?? '').initialize();
  await later.query("UPDATE minimum_version SET version = '9.0.0'");
  await later.destroy();
  expect(await second.end('SIGTERM')).toBe(0);

  const third = start({ DATA_DIR: dataDir });
  expect(await third.ended()).toBe(1);
  expect(third.said).toContain('a newer version has changed the database so that it needs 9.0.0 or later');
});
