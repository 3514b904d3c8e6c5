import { expect, it } from 'vitest';
import { createAccount, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService({ roles: ['api'] });

it.each([
  ['one part', 1],
  ['several parts', 4_000],
])('an import of %s is answered with 202 only after its bytes are committed', async (_, rows) => {
  const { database } = service.runtime;
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key);
  const body = `${JSON.stringify(movement(account.id))}\n`.repeat(rows);
  const send = () => service.call('POST', '/v1/imports', { key, body, type: 'application/x-ndjson' });

  // Locks the gap after the last part, so that the bytes cannot be stored. Then the connection that waits to store them is killed.
  const runner = database.createQueryRunner();
  await runner.startTransaction('REPEATABLE READ');
  await runner.query('SELECT 1 FROM import_parts FOR UPDATE');
  const answer = send();
  const { id } = await until('bytes wait to be stored', async () => {
    const [waiting] = await database.query<{ id: string }[]>(
      `SELECT id FROM information_schema.processlist
       WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE 'INSERT INTO import_parts%'`,
    );
    return waiting;
  });
  await database.query(`KILL ${id}`);
  await runner.rollbackTransaction();
  await runner.release();

  expectProblem(await answer, 503);
  expect((await service.call('GET', '/v1/imports', { key })).body).toEqual({ imports: [] });
  expect((await send()).status).toBe(202);
});
