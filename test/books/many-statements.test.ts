import { expect, it } from 'vitest';
import { readCompleteness } from '../../src/books/find-statements.ts';
import { checkStatements } from '../../src/upkeep/events/check-accounts.ts';
import { createAccount } from '../support/movements.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'all accounts are checked', roles: ['api'] });

/** How many statements begin within another one, all with the same booking. Their pairs would need 1.9 GB. */
const MANY = 6_000;

/** A statement of a month, and many of its second half, whose only booking is the same movement. */
async function storeStatements(customerId: string, accountId: string): Promise<void> {
  const { database } = service.runtime;
  const { insertId: importId } = await database.query<{ insertId: number }>(
    `INSERT INTO imports (customer_id, api_key_id, format, status)
     SELECT customer_id, id, 'auto', 'done' FROM api_keys WHERE customer_id = ?`,
    [customerId],
  );
  const { insertId: movementId } = await database.query<{ insertId: number }>(
    `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
     VALUES (?, ?, ?, 'x', 'Credit', 7, '2026-03-15', NOW(6))`,
    [customerId, accountId, importId],
  );
  const { insertId: first } = await database.query<{ insertId: number }>(
    `INSERT INTO statements (customer_id, account_id, import_id, line, format, kind, from_date, to_date, opening_balance, closing_balance,
       credits, debits, entries, fingerprint) VALUES ?`,
    [
      Array.from({ length: MANY + 1 }, (_, n) => [
        ...[
          customerId,
          accountId,
          importId,
          n,
          'mt940',
          'final',
          n === 0 ? '2026-03-01' : '2026-03-15',
          '2026-03-31',
        ],
        ...[100 * n, 100 * n + 7, 7, 0, 1, Buffer.from(String(n).padStart(16, '0'))],
      ]),
    ],
  );
  await database.query(
    'INSERT INTO transaction_details (transaction_id, statement_id, customer_id, line, position) VALUES (?, ?, ?, 0, 0)',
    [movementId, first, customerId],
  );
  await database.query(
    `INSERT INTO repeated_entries (statement_id, position, transaction_id, customer_id, account_id, import_id, date_issue) VALUES ?`,
    [
      Array.from({ length: MANY }, (_, n) => [
        Number(first) + n + 1,
        0,
        movementId,
        customerId,
        accountId,
        importId,
        '2026-03-15',
      ]),
    ],
  );
  await database.query(
    'INSERT INTO statement_checks (account_id, customer_id, due_at) VALUES (?, ?, NOW(6) - INTERVAL 1 MINUTE)',
    [accountId, customerId],
  );
}

it('thousands of statements with the same booking are compared with little memory, by the api and by maintenance', async () => {
  const { api_key: key, customer } = await service.customer();
  const { id } = await createAccount(service, key);
  await storeStatements(customer.id, String(id));
  const before = process.memoryUsage().heapUsed;
  const { status } = await readCompleteness(service.runtime.database, String(id));
  expect(status).toBe('contradictory');
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200_000_000);
  expect(await checkStatements(service.runtime.database)).toBe(1);
});
