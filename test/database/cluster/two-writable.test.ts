import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDataSource } from '../../../src/database/data-source.ts';
import { isConnectionError } from '../../../src/database/errors.ts';
import { readHosts } from '../../../src/database/lead-to-primary.ts';
import { type Replication, startReplication } from '../../support/replication.ts';
import { until } from '../../support/until.ts';

let directory: string;
let replication: Replication;
let database: DataSource;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-two-writable-'));
  replication = await startReplication(directory);
  database = await createDataSource(replication.urlOfBoth).initialize();
});

afterAll(async () => {
  await database?.destroy();
  await replication?.stop();
  await rm(directory, { recursive: true, force: true });
});

const hostOf = async (from: DataSource) => {
  const [row] = await from.query<{ port: string }[]>('SELECT @@port AS port');
  return `127.0.0.1:${row?.port}`;
};

it('a new connection carries no statement if its server takes no writes, before the next check of the hosts', async () => {
  const COUNT = 6;
  const query = () => database.query('SELECT 1');
  await query();
  await replication.forbidWrites();
  const answers = await Promise.allSettled(Array.from({ length: COUNT }, query));
  const refusals = answers.flatMap((it) => (it.status === 'rejected' ? [it.reason] : []));
  // One of them gets the connection that exists.
  expect(refusals.length).toBeGreaterThanOrEqual(COUNT - 1);
  expect(refusals.every(isConnectionError)).toBe(true);
  await replication.allowWrites();
  await until('statements go on', () =>
    query().then(
      () => true,
      () => false,
    ),
  );
});

it('of two servers that take writes, the one with all transactions of the other is used, and none if each lacks some', async () => {
  const { primary, promoted } = await replication.split();
  expect(await hostOf(database), 'both have the same transactions').toBe(primary.name);

  await promoted.run('CREATE DATABASE written_after_the_failover');
  await until('the process moves to the promoted server', () =>
    hostOf(database).then(
      (host) => host === promoted.name,
      () => false,
    ),
  );
  const other = await createDataSource(replication.urlOfBoth).initialize();
  expect(await hostOf(other), 'a new process chooses the same one').toBe(promoted.name);
  await other.destroy();

  await primary.run('CREATE DATABASE written_to_the_former_primary');
  const refusal = await until('no server is used', () =>
    database.query('SELECT 1').then(
      () => null,
      (error: Error) => (error.message.startsWith('DATABASE_URL') ? error : null),
    ),
  );
  const both = `(${primary.name}, ${promoted.name})`;
  expect(refusal.message).toBe(
    `DATABASE_URL names servers that take writes independently of each other ${both}, and their transactions do not tell which one is the primary: make all but one read-only.`,
  );
  expect(isConnectionError(refusal)).toBe(true);
  expect(readHosts(database)).toMatchObject({
    primary: null,
    conflicting: [primary.name, promoted.name],
  });
  await expect(createDataSource(replication.urlOfBoth).initialize()).rejects.toThrow(refusal.message);

  await primary.forbidWrites();
  await until('the process goes on', () =>
    hostOf(database).then(
      (host) => host === promoted.name,
      () => false,
    ),
  );
  expect(readHosts(database)).toMatchObject({ primary: promoted.name, conflicting: [] });
});
