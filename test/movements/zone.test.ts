import { expect, it } from 'vitest';
import { parseOffset } from '../../src/platform/moment.ts';
import { readPage } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({
  because: 'its time zone is another one',
  roles: ['api', 'importer'],
  config: { zone: parseOffset('-03:30') },
});

it('the API writes date_readed in the time zone of TIME_ZONE_OFFSET, and reads after in it', async () => {
  const { api_key: key } = await service.customer();
  const { id } = await createAccount(service, key);
  await importMovements(service, key, [movement(id)]);
  const { database } = service.runtime;
  await database.query(`UPDATE transactions SET date_readed = '2026-03-01 02:15:59.9' WHERE account_id = ?`, [
    id,
  ]);
  await database.query(`UPDATE accounts SET last_update = '2026-03-01 02:15:59.9' WHERE id = ?`, [id]);

  const { rows } = await readPage(service, key, '/v1/transactions?starts=2026-01-01');
  expect(rows[0]?.date_readed).toBe('2026-02-28 22:45:59-03:30');
  const { body } = await service.call('GET', `/v1/accounts/${id}`, { key });
  expect(body.accounts[0].last_update).toBe('2026-02-28 22:45:59-03:30');
  for (const [after, found] of [
    ['2026-02-28 22:45:59', 1],
    ['2026-02-28 22:46:00', 0],
    ['2026-02-28 22:45:59-03:30', 1],
    ['2026-03-01 05:15:59+03', 1],
    ['2026-03-01 05:16:00 03', 0],
  ] as const) {
    expect((await readPage(service, key, `/v1/transactions?after=${after}`)).rows, after).toHaveLength(found);
  }
});
