import mysql from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { createDataSource } from '../../src/database/data-source.ts';
import { createWriteCheck } from '../../src/database/health.ts';
import { useDatabase } from '../support/database.ts';
import { startRelay } from '../support/relay.ts';
import { until } from '../support/until.ts';

const { url } = useDatabase();

it('a write that hangs is said until a write succeeds, also when the next one only waits for its lock', async () => {
  const relay = await startRelay(url);
  const database = await createDataSource(relay.url).initialize();
  const other = await mysql.createConnection(url);
  onTestFinished(async () => {
    other.destroy();
    await database.destroy();
    relay.close();
  });
  const check = createWriteCheck(database);
  await until('MySQL takes the write', async () => (await check()) === 'ok');

  relay.hang(true);
  await until('the write hangs', async () => (await check()) === 'has not finished a write for 5 s');
  // As a commit does that waits for a full disk after its client has gone.
  await other.query('START TRANSACTION');
  await other.query('SELECT id FROM write_checks FOR UPDATE');
  relay.hang(false);
  const states = new Set<string>();
  for (let looks = 0; looks < 3; looks++) states.add(await check(60_000));
  expect([...states, check.known()]).toEqual([
    'has not finished a write for 5 s',
    'has not finished a write for 5 s',
  ]);

  await other.query('ROLLBACK');
  await until('MySQL takes the write again', async () => (await check()) === 'ok');
});
