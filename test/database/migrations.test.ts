import { DataSource } from 'typeorm';
import { expect, it } from 'vitest';
import { storeHistory } from '../../bench/history.ts';
import { migrate } from '../../src/database/migrate.ts';
import { InitialSchema1763700000000 } from '../../src/database/migrations/initial-schema.ts';
import { makeSegments } from '../../src/listing/segment-maker.ts';
import { useDatabase } from '../support/database.ts';

const { database } = useDatabase({ migrated: false });

const CUSTOMERS = [1, 2, 3];

it('takes over what an installation of the first schema has stored, and counts it', async () => {
  const first = await new DataSource({
    ...database.options,
    migrations: [InitialSchema1763700000000],
  }).initialize();
  await first.runMigrations({ transaction: 'none' });
  await first.destroy();
  for (const id of CUSTOMERS) {
    await database.query("INSERT INTO customers (id, name, api_secret) VALUES (?, 'Müşteri', '-')", [id]);
    await database.query('INSERT INTO import_locks (customer_id) VALUES (?)', [id]);
  }
  const owners = ['1', '1', '2'].map((customerId, i) => ({ customerId, accountId: String(i + 1) }));
  await storeHistory(database, owners, 300);
  await database.query('UPDATE import_locks SET last_transaction_id = (SELECT MAX(id) FROM transactions)');

  expect(await migrate(database)).toEqual(['TransactionSegments1763800000000']);
  const counts = await database.query('SELECT movements FROM import_locks ORDER BY customer_id');
  expect(counts).toEqual([{ movements: '200' }, { movements: '100' }, { movements: '0' }]);
  expect(await makeSegments(database, { size: 30 })).toBe(6 + 3);
  expect(await migrate(database)).toEqual([]);

  await database.undoLastMigration({ transaction: 'none' });
  expect(await database.query('SELECT * FROM import_locks WHERE customer_id = 3')).toEqual([
    { customer_id: '3', last_transaction_id: expect.anything(), last_date_readed: expect.anything() },
  ]);
  expect(await migrate(database)).toEqual(['TransactionSegments1763800000000']);
});
