import { expect, it } from 'vitest';
import { EVER, readBalances } from '../../src/books/find-balances.ts';
import { createAccount } from '../support/movements.ts';
import { watchReads } from '../support/reads.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

const ADD = `
  INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, balance, date_issue, date_readed)
  WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999)
  SELECT a.customer_id, a.id, 1, CONCAT(d.i, '-', n.i), 'Credit', 1, n.i, DATE('2026-01-01') + INTERVAL n.i DAY, NOW(6)
  FROM accounts a JOIN n JOIN (SELECT i FROM n WHERE i < 20) d WHERE a.id = ?`;

it('a page of balances reads no more movements than its limit', async () => {
  const { api_key: key } = await service.customer();
  const { id } = await createAccount(service, key);
  const { database } = service.runtime;
  await database.query(ADD, [id]);
  // The first time, MySQL reads its own dictionary too.
  await readBalances(database, { id, balance: '1.00' }, EVER, 1);
  const { result, read } = await watchReads(database, (sql) =>
    readBalances(sql, { id, balance: '1.00' }, EVER, 100),
  );
  expect(result.balances).toHaveLength(100);
  expect(result.balances[0]).toMatchObject({ date: '2028-09-26', closing: 999_000n });
  expect(result.next).not.toBeNull();
  expect(read).toBeLessThan(5_100);
});
