import { parse } from 'valibot';
import { expect, it } from 'vitest';
import { createKnownMovements } from '../../src/imports/known-movements.ts';
import { Movement } from '../../src/imports/movement.ts';
import { movement } from '../support/movements.ts';
import { watchReads } from '../support/reads.ts';
import { useService } from '../support/service.ts';
import { createSubscriber } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });

it('known movements are found in an index, however many an account has', async () => {
  const { database } = service.runtime;
  const { accountId, store } = await createSubscriber(service);
  await store(3_000);
  const rows = await database.query<{ unique_id: Buffer }[]>(
    'SELECT unique_id FROM transactions WHERE account_id = ? ORDER BY id LIMIT 50',
    [accountId],
  );
  const ids = [...rows.map(({ unique_id }) => String(unique_id)), 'new', 'twice', 'twice'];
  const movements = ids.map((uniqueId, line) => ({
    line,
    uniqueId,
    movement: parse(Movement, movement(accountId)),
  }));
  const { result, read } = await watchReads(database, (sql) => createKnownMovements(sql)(movements));
  expect(result.map((it) => it?.reason ?? null)).toEqual([...rows.map(() => 'conflict'), null, null, 'same']);
  expect(read).toBeLessThan(500);
});
