import { expect, it } from 'vitest';
import { readDue } from '../../src/delivering/due.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { subscribe } from '../support/webhooks.ts';

const MOVEMENTS = 5_000;

const service = useService({ roles: ['api'] });

it('reads a batch without looking at all movements, also before MySQL has counted what was just stored', async () => {
  const { database } = service.runtime;
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key);
  const webhook = await subscribe(service, key, 'http://127.0.0.1:9/hook');
  for (const table of ['transactions', 'deliveries']) {
    await database.query(`ALTER TABLE ${table} STATS_AUTO_RECALC = 0`);
    await database.query(`ANALYZE TABLE ${table}`);
  }
  const { dc, amount, description, date_issue } = movement(account.id);
  await database.query(
    `INSERT INTO transactions
     (customer_id, account_id, import_id, unique_id, dc, amount, description, date_issue, date_readed) VALUES ?`,
    [
      Array.from({ length: MOVEMENTS }, (_, i) => [
        ...[customer.id, account.id, 0, `m${i}`],
        ...[dc, amount, description, date_issue, '2026-01-15 09:00:00'],
      ]),
    ],
  );
  await database.query(
    'INSERT INTO deliveries (webhook_id, transaction_id) SELECT ?, id FROM transactions WHERE account_id = ? ORDER BY id',
    [webhook.id, account.id],
  );

  const session = database.createQueryRunner();
  try {
    await session.query('FLUSH STATUS');
    const { rows } = await readDue(session, webhook.id);
    const counters: { Value: string }[] = await session.query(
      "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_key', 'Handler_read_next', 'Handler_read_rnd_next')",
    );
    const read = counters.reduce((sum, { Value }) => sum + Number(Value), 0);
    expect(rows).toHaveLength(300);
    expect(read).toBeLessThan(MOVEMENTS);
  } finally {
    await session.release();
  }
});
