import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createDataSource } from '../../src/database/data-source.ts';
import { isConnectionError } from '../../src/database/errors.ts';
import { migrate } from '../../src/database/migrate.ts';
import { inTransaction } from '../../src/database/transaction.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const { database, url } = useDatabase();

it('the migrations run once, however many processes start at the same time', async () => {
  await database.query('DROP TABLE migrations');
  const tables = await database.query<{ name: string }[]>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
  );
  await database.query('SET FOREIGN_KEY_CHECKS = 0');
  for (const { name } of tables) await database.query(`DROP TABLE ${name}`);
  const ran = await Promise.all([migrate(database), migrate(database), migrate(database)]);
  expect(ran.filter((names) => names.length > 0)).toHaveLength(1);
  expect(await database.showMigrations()).toBe(false);
});

it('the migrations set charset and collation on every table', async () => {
  const tables = await database.query<{ name: string; collation: string }[]>(
    `SELECT table_name AS name, table_collation AS collation FROM information_schema.tables
     WHERE table_schema = DATABASE() AND table_name <> 'migrations'`,
  );
  expect(tables.length).toBeGreaterThan(10);
  expect(new Set(tables.map(({ collation }) => collation))).toEqual(new Set(['utf8mb4_unicode_ci']));
});

it('the connection to MySQL uses UTC, strict mode and READ COMMITTED, whatever the server’s defaults are', async () => {
  const [session] = await database.query<object[]>(
    'SELECT @@session.time_zone AS zone, @@session.sql_mode AS mode',
  );
  expect(session).toMatchObject({
    zone: '+00:00',
    mode: expect.stringContaining('STRICT_ALL_TABLES'),
  });
  // MySQL and MariaDB name this variable differently, and newer versions of MariaDB know both names.
  const isolation = await database.query<{ Value: string }[]>(
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')",
  );
  expect(new Set(isolation.map(({ Value }) => Value))).toEqual(new Set(['READ-COMMITTED']));
});

it('the connection to MySQL counts inserted and changed rows as affected, not found rows', async () => {
  const session = database.createQueryRunner();
  try {
    await session.query('CREATE TEMPORARY TABLE counted (id INT PRIMARY KEY, n INT)');
    const affected = async (statement: string) => (await session.query(statement)).affectedRows;
    expect(await affected('INSERT INTO counted VALUES (1, 1), (2, 2)')).toBe(2);
    expect(await affected('INSERT INTO counted VALUES (1, 5), (3, 3) ON DUPLICATE KEY UPDATE n = n')).toBe(1);
    expect(await affected('UPDATE counted SET n = 2')).toBe(2);
  } finally {
    await session.release();
  }
});

it('the MySQL server ends a query that takes too long', async () => {
  const impatient = await createDataSource(url, { poolSize: 1, statementTimeout: 1_000 }).initialize();
  const from = ['a', 'b', 'c', 'd', 'e'].map((name) => `information_schema.collations ${name}`).join(', ');
  const query = `SELECT COUNT(*) AS many FROM ${from}`;
  const error = await impatient.query(query).catch((reason: unknown) => reason);
  expect(isConnectionError(error)).toBe(true);
  // The server answers before it forgets the query.
  await until('the query has ended', async () => {
    const running = await database.query<unknown[]>(
      "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT COUNT(*) AS many%'",
    );
    return running.length === 0;
  });
  // The connection can still be used.
  expect(await impatient.query('SELECT 1')).toHaveLength(1);
  await impatient.destroy();
});

it('the connection to MySQL sends long bytes unchanged, and a statement with long bytes that hangs fails with the same error', async () => {
  const impatient = await createDataSource(url, { poolSize: 1, statementTimeout: 200 }).initialize();
  const bytes = randomBytes(100_000);
  await impatient.query('CREATE TABLE sent (bytes MEDIUMBLOB NOT NULL)');
  await impatient.query('INSERT INTO sent VALUES (?)', [bytes]);
  const [row] = await impatient.query<{ bytes: Buffer }[]>('SELECT bytes FROM sent');
  expect(row?.bytes.equals(bytes)).toBe(true);

  // While an ALTER TABLE waits for a reader, not even the preparation of a statement on this table succeeds.
  const reader = database.createQueryRunner();
  await reader.startTransaction();
  await reader.query('SELECT 1 FROM import_parts');
  const change = database.query("ALTER TABLE import_parts COMMENT 'changed'");
  await until('the change waits', async () => {
    const waiting = await database.query<unknown[]>(
      `SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'ALTER TABLE%' AND state LIKE 'Waiting%'`,
    );
    return waiting.length > 0;
  });
  const insert = impatient.query('INSERT INTO import_parts (import_id, seq, bytes) VALUES (1, 0, ?)', [
    bytes,
  ]);
  const error = await insert.catch((reason: unknown) => reason);
  await reader.rollbackTransaction();
  await reader.release();
  await change;
  expect(isConnectionError(error)).toBe(true);
  await impatient.destroy();
});

it('the connection to MySQL treats a stopped server with a full connection queue as unreachable', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-stopped-'));
  const socketPath = join(directory, 'mysql.sock');
  const server = `require('node:net').createServer().listen({ path: ${JSON.stringify(socketPath)}, backlog: 1 }, () => console.log('up'))`;
  const child = spawn(process.execPath, ['-e', server], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGSTOP');

  const attempts = Array.from({ length: 6 }, () =>
    createDataSource(`mysql://nobody:x@localhost/none?socketPath=${socketPath}`).initialize(),
  );
  const errors = (await Promise.allSettled(attempts)).map((it) => (it as PromiseRejectedResult).reason);
  expect(errors.map(({ code }) => code)).toContain('EAGAIN');
  expect(errors.map(isConnectionError)).toEqual(errors.map(() => true));

  child.kill('SIGKILL');
  await rm(directory, { recursive: true, force: true });
});

it('a transaction is repeated after it was the victim of a deadlock', async () => {
  await database.query(
    "INSERT INTO customers (id, name, api_secret) VALUES (1, 'one', '-'), (2, 'two', '-')",
  );
  let runs = 0;
  /** Each transaction locks its second row only when the other one has locked its first. */
  let arrivals = 0;
  const opposite = (first: number, second: number) =>
    inTransaction(database, async (sql) => {
      runs += 1;
      await sql.query('SELECT id FROM customers WHERE id = ? FOR UPDATE', [first]);
      arrivals += 1;
      while (arrivals < 2) await new Promise((resolve) => setImmediate(resolve));
      await sql.query('SELECT id FROM customers WHERE id = ? FOR UPDATE', [second]);
    });
  await Promise.all([opposite(1, 2), opposite(2, 1)]);
  expect(runs).toBe(3);
});
