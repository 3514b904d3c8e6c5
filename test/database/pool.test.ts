import { expect, inject, it, onTestFinished } from 'vitest';
import { onConnection, onPoolWait, readPoolUse } from '../../src/database/connection.ts';
import { createDataSource } from '../../src/database/data-source.ts';
import { isConnectionError } from '../../src/database/errors.ts';

it('a caller waits at most ten seconds for a connection, and a connection that is freed later is not lost', async () => {
  const database = createDataSource(inject('databaseUrl'), { poolSize: 1 });
  await database.initialize();
  onTestFinished(() => database.destroy());
  await onConnection(database, async () => {
    const error = await database.query('SELECT 1').catch((reason: unknown) => reason);
    expect(isConnectionError(error)).toBe(true);
    expect(readPoolUse(database)).toMatchObject({ busy: 1, idle: 0 });
  });
  await database.query('SELECT 1');
  expect(readPoolUse(database)).toEqual({ busy: 0, idle: 1, waiters: 0, max: 1 });
});

it('a pool report shows busy and idle connections and the waiting callers', async () => {
  const database = createDataSource(inject('databaseUrl'), { poolSize: 1 });
  await database.initialize();
  onTestFinished(async () => {
    if (database.isInitialized) await database.destroy();
  });
  let waits = 0;
  onPoolWait(database, () => {
    waits += 1;
  });
  const idle = { busy: 0, idle: 1, waiters: 0, max: 1 };
  expect([readPoolUse(database), waits]).toEqual([idle, 0]);

  const waiting = await onConnection(database, async () => {
    const statements = [database.query('SELECT 1'), database.query('SELECT 1')];
    expect([readPoolUse(database), waits]).toEqual([{ busy: 1, idle: 0, waiters: 2, max: 1 }, 2]);
    return statements;
  });
  await Promise.all(waiting);
  expect([readPoolUse(database), waits]).toEqual([idle, 2]);

  await database.destroy();
  expect(readPoolUse(database)).toBeNull();
});
