import { beforeAll, describe, expect, it } from 'vitest';
import type { Sql } from '../../src/database/transaction.ts';
import { RANGE_OF_DATES } from '../../src/listing/id-range.ts';
import type { Listing } from '../../src/listing/listing.ts';
import { listTransactions } from '../../src/listing/transactions.ts';
import { parseOffset } from '../../src/zone-offset.ts';
import { useDatabase } from '../support/database.ts';

const { database } = useDatabase();

const CUSTOMERS = 3;
const ACCOUNTS = 4;
/** Rows of each account; of one customer more, so that its rows are most of the table. */
const rowsOf = (customer: number) => (customer === 1 ? 6_000 : 1_000);

beforeAll(async () => {
  await database.query("INSERT INTO banks (name) VALUES ('Banka')");
  for (let customer = 1; customer <= CUSTOMERS; customer += 1) {
    await database.query("INSERT INTO customers (id, name, api_secret) VALUES (?, 'Müşteri', '-')", [
      customer,
    ]);
    for (let n = 1; n <= ACCOUNTS; n += 1) {
      await database.query(
        "INSERT INTO accounts (id, customer_id, bank_id, title, currency) VALUES (?, ?, 1, 'Hesap', 'TRY')",
        [customer * 10 + n, customer],
      );
    }
  }
  const rows = Array.from({ length: rowsOf(1) }, (_, i) =>
    Array.from({ length: CUSTOMERS * ACCOUNTS }, (_, n) => {
      const customer = (n % CUSTOMERS) + 1;
      const day = new Date(Date.UTC(2024, 0, 1 + (i % 700))).toISOString().slice(0, 10);
      const read = `2026-01-01 ${String(Math.floor(i / 300)).padStart(2, '0')}:00:00`;
      const account = customer * 10 + Math.floor(n / CUSTOMERS) + 1;
      return i < rowsOf(customer) ? [[customer, account, 1, `${i}`, 'Debit', '1.00', day, read]] : [];
    }).flat(),
  ).flat();
  for (let start = 0; start < rows.length; start += 2_000) {
    await database.query(
      `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
       VALUES ?`,
      [rows.slice(start, start + 2_000)],
    );
  }
  await database.query('ANALYZE TABLE transactions, accounts, banks');
});

interface Step {
  table: string | null;
  type: string | null;
  key: string | null;
  Extra: string | null;
}

/** Runs a listing, and explains each statement it was made of. */
async function explain(fields: Partial<Listing>): Promise<{ sql: string; steps: Step[] }[]> {
  const statements: { sql: string; steps: Step[] }[] = [];
  const sql: Sql = {
    async query(statement: string, values?: unknown[]) {
      statements.push({ sql: statement, steps: await database.query(`EXPLAIN ${statement}`, values) });
      return database.query(statement, values);
    },
  };
  const listing: Listing = {
    customerId: '1',
    accountIds: 'all',
    starts: null,
    ends: null,
    after: null,
    cursor: null,
    page: 1,
    perPage: 100,
    ...fields,
  };
  const { transactions } = await listTransactions(sql, listing, parseOffset('+03'));
  expect(transactions.length).toBeGreaterThan(0);
  return statements;
}

const SCOPES: [string, Partial<Listing>][] = [
  ['all of the largest customer', {}],
  ['all of a small customer', { customerId: '2' }],
  ['one account', { accountIds: ['11'] }],
  ['one account of a small customer', { customerId: '2', accountIds: ['21'] }],
  ['some accounts of a limited key', { accountIds: ['11', '13'] }],
];
const SHAPES: [string, Partial<Listing>][] = [
  ['starts', { starts: '2024-06-01' }],
  ['ends', { ends: '2024-06-01' }],
  ['starts and ends', { starts: '2024-02-01', ends: '2024-03-01' }],
  ['a single day', { starts: '2024-02-01', ends: '2024-02-01' }],
  ['after', { after: '2026-01-01 02:00:00' }],
  ['all three', { starts: '2024-01-01', ends: '2025-01-01', after: '2026-01-01 01:00:00' }],
  ['a cursor', { starts: '2024-06-01', cursor: '1500' }],
  ['a deep page', { starts: '2024-01-01', page: 5 }],
  ['a page after', { after: '2026-01-01 00:00:00', page: 3 }],
];

describe.each(SCOPES)('the listing of %s', (_scope, scope) => {
  it.each(SHAPES)(
    'by %s walks an index in order of id, and neither sorts nor scans',
    async (_shape, shape) => {
      for (const { sql, steps } of await explain({ ...scope, ...shape })) {
        for (const { table, type, key, Extra } of steps) {
          const ofTransactions = table === 't' || table === 'transactions';
          if (!ofTransactions) continue;
          const plan = `${sql}\n${JSON.stringify(steps)}`;
          expect(type, plan).toMatch(/^(const|eq_ref|ref|range)$/);
          expect(key, plan).not.toBeNull();
          expect(Extra ?? '', plan).not.toContain('Using filesort');
          if (table === 't') expect(Extra ?? '', plan).not.toContain('Using temporary');
        }
      }
    },
  );
});

it('the range of dates is found by steps in the index, one for each day of an account', async () => {
  // Two accounts with so many movements a day that stepping from day to day is the better way by far.
  const rows = Array.from({ length: 8_000 }, (_, i) => [
    1,
    18 + (i % 2),
    1,
    `dense-${i}`,
    'Debit',
    '1.00',
    `2025-03-${10 + (i % 10)}`,
    '2026-02-01',
  ]);
  await database.query(
    `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
     VALUES ?`,
    [rows],
  );
  await database.query('ANALYZE TABLE transactions');
  for (const accounts of [['18'], ['18', '19']]) {
    const steps = await database.query<Step[]>(`EXPLAIN ${RANGE_OF_DATES}`, [
      accounts,
      '2025-01-01',
      '2025-06-01',
    ]);
    const step = steps.find(({ table }) => table === 'transactions');
    expect(step, JSON.stringify(steps)).toMatchObject({
      type: 'range',
      key: 'transactions_account_date',
      Extra: expect.stringContaining('Using index for group-by'),
    });
  }
});
