import { beforeEach, expect, it } from 'vitest';
import { createCustomer } from '../../src/customers/customers.ts';
import { createSecretBox } from '../../src/database/secret-box.ts';
import { readFigures } from '../../src/verdict/state/figures.ts';
import { useDatabase } from '../support/database.ts';

const { database } = useDatabase();
const secrets = createSecretBox(Buffer.alloc(32, 7).toString('base64'));

let customerId: string;
beforeEach(async () => {
  await database.query('DELETE FROM imports');
  customerId = (await createCustomer({ database, secrets }, 'Bekleyen')).customer.id;
});

const addImport = (status: string, minutesAgo: number, crashes = 0) =>
  database.query(
    `INSERT INTO imports (customer_id, api_key_id, format, status, crash_count, received_at, finished_at)
     VALUES (?, (SELECT MIN(id) FROM api_keys WHERE customer_id = ?), 'json', ?, ?, NOW(6) - INTERVAL ? MINUTE, IF(? = 'failed', NOW(6) - INTERVAL ? MINUTE, NULL))`,
    [customerId, customerId, status, crashes, minutesAgo, status, minutesAgo],
  );
const storedMinutesAgo = (minutes: number) =>
  database.query(
    'UPDATE import_locks SET last_date_readed = NOW(6) - INTERVAL ? MINUTE WHERE customer_id = ?',
    [minutes, customerId],
  );
const stuck = async () => (await readFigures(database)).importsStuck;

it('imports are counted as stuck when they have waited for five minutes and no movement of their customer was stored', async () => {
  await storedMinutesAgo(6);
  await addImport('queued', 4);
  await addImport('done', 10);
  expect(await stuck()).toBe(0);
  await addImport('queued', 6);
  await addImport('running', 7);
  expect(await stuck()).toBe(2);
  // An import that failed long ago is not stuck when it is retried.
  await addImport('running', 600);
  expect(await stuck()).toBe(3);
  await database.query('UPDATE imports SET retried_at = NOW(6) WHERE received_at < NOW(6) - INTERVAL 1 HOUR');
  expect(await stuck()).toBe(2);
  // A large import before them is still being stored.
  await storedMinutesAgo(1);
  expect(await stuck()).toBe(0);
});

it('a failed import counts for a day, and an import that was given up counts until it is done', async () => {
  const day = 24 * 60;
  await addImport('failed', day + 1);
  await addImport('failed', day - 1);
  await addImport('failed', 30 * day, 10);
  expect(await readFigures(database)).toMatchObject({
    imports: { failed: 3 },
    importsFailedLately: 1,
    importsGivenUp: 1,
  });
});
