import { expect, it } from 'vitest';
import { findNewerMigrations, migrate } from '../../src/database/migrate.ts';
import { useDatabase } from '../support/database.ts';

const { database } = useDatabase({ migrated: false });

const TABLES = 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()';

const tables = async () =>
  (await database.query<{ name: string }[]>(TABLES))
    .map(({ name }) => name)
    .filter((it) => it !== 'migrations');

it('the migrations create all tables once, and can be reverted', async () => {
  expect(await migrate(database)).toEqual(['InitialSchema1763700000000']);
  const made = await tables();
  expect(made).toEqual(expect.arrayContaining(['transactions', 'webhook_cursors', 'deliveries', 'replays']));
  expect(await migrate(database)).toEqual([]);

  await database.undoLastMigration({ transaction: 'none' });
  expect(await tables()).toEqual([]);
  expect(await migrate(database)).toEqual(['InitialSchema1763700000000']);
  expect((await tables()).toSorted()).toEqual(made.toSorted());
});

it('the service names the migrations of a newer version', async () => {
  await migrate(database);
  expect(await findNewerMigrations(database)).toEqual([]);
  await database.query(
    "INSERT INTO migrations (timestamp, name) VALUES (1863700000000, 'Newer1863700000000')",
  );
  expect(await findNewerMigrations(database)).toEqual(['Newer1863700000000']);
});

it('a migration that stopped halfway can be run again', async () => {
  const made = await tables();
  await database.query('DELETE FROM migrations');
  for (const name of ['operational_events', 'webhook_cursors']) await database.query(`DROP TABLE ${name}`);
  expect(await migrate(database)).toEqual(['InitialSchema1763700000000']);
  expect((await tables()).toSorted()).toEqual(made.toSorted());
});
