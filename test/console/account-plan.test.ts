import { beforeAll, describe, expect, it } from 'vitest';
import { FIRST_ACCOUNTS, findBookedAccounts } from '../../src/console/books/booked-accounts.tsx';
import { readAccounts } from '../../src/console/customers/customer-page.tsx';
import { findAccounts, findTitled } from '../../src/console/trace/search.ts';
import type { Sql } from '../../src/database/transaction.ts';
import { BEYOND_NEWEST } from '../../src/http/paging.ts';
import { findCustomerTroubles } from '../../src/verdict/work.ts';
import { createAccount } from '../support/movements.ts';
import { watchReads } from '../support/reads.ts';
import { useOwnService } from '../support/service.ts';

/** Checks how many entries MySQL reads for the pages that list accounts. None of them may grow with the number of accounts or imports. */
const ACCOUNTS = 10_000;
const FAILED_IMPORTS = 10_000;
/** More than a page shows, and far less than there are accounts. */
const FEW = 2_500;
const IBAN = 'TR330006100519786457841326';

const service = useOwnService({ because: 'MySQL plans by the size of the tables', roles: ['api'] });
let customerId: string;

const numbers = (n: number) => `
  (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999)
   SELECT a.n * 1000 + b.n AS n FROM s a JOIN s b WHERE a.n * 1000 + b.n < ${n})`;

/** Another customer has most accounts, and most of what is wrong. */
beforeAll(async () => {
  const { database } = service.runtime;
  const other = await service.customer();
  const { id: first } = await createAccount(service, other.api_key);
  await database.query(
    `INSERT INTO accounts (customer_id, bank_id, title, currency, iban, number, has_statements, last_update)
     SELECT a.customer_id, a.bank_id, 'x', 'TRY', CONCAT('DE', n), n, n % 4 > 0, IF(n % 8 = 0, NULL, NOW(6))
     FROM ${numbers(ACCOUNTS)} it JOIN accounts a ON a.id = ?`,
    [first],
  );
  await database.query(
    `INSERT INTO statement_checks (account_id, customer_id, completeness, late_since)
     SELECT id, customer_id, ELT(1 + id % 3, 'complete', 'incomplete', 'contradictory'), NOW(6)
     FROM accounts WHERE has_statements = 1`,
  );
  await database.query(
    `INSERT INTO imports (customer_id, api_key_id, format, status, finished_at)
     SELECT ?, 1, 'json', 'failed', NOW(6) FROM ${numbers(FAILED_IMPORTS)} it`,
    [other.customer.id],
  );
  const { api_key: key, customer } = await service.customer();
  customerId = customer.id;
  const { id } = await createAccount(service, key, { iban: IBAN });
  await database.query(
    "INSERT INTO statement_checks (account_id, customer_id, completeness) VALUES (?, ?, 'incomplete')",
    [id, customerId],
  );
});

const list = (owner: () => string | null, place = FIRST_ACCOUNTS) => {
  return async (sql: Sql) => (await findBookedAccounts(sql, { customerId: owner(), place }, 50)).rows;
};

const CASES: [name: string, work: (sql: Sql) => Promise<unknown[]>][] = [
  ['the first accounts of Books', list(() => null)],
  ['the last accounts of Books', list(() => null, { group: 'without movements', below: BEYOND_NEWEST })],
  ['the accounts of a customer in Books', list(() => customerId)],
  ['the accounts of a customer', async (sql) => (await readAccounts(sql, customerId)).rows],
  ['the troubles of a customer', (sql) => findCustomerTroubles(sql, customerId, 20)],
  ['a search for an IBAN', (sql) => findAccounts(sql, IBAN)],
  ['a search for the number of an account', (sql) => findAccounts(sql, '4711')],
  ['a search for a title that all accounts have', (sql) => findTitled(sql, 'X')],
];

describe('the console reads few rows', () => {
  it.each(CASES)('for %s', async (_name, work) => {
    const { result, read } = await watchReads(service.runtime.database, work);
    expect(result.length).toBeGreaterThan(0);
    expect(read).toBeLessThanOrEqual(FEW);
  });
});
