import { beforeAll, describe, expect, it } from 'vitest';
import { storeHistory } from '../../bench/history.ts';
import type { Sql } from '../../src/database/transaction.ts';
import { readExtended } from '../../src/movements/extended.ts';
import type { Listing } from '../../src/movements/listing.ts';
import { readWithdrawn } from '../../src/movements/pages/read-withdrawn.ts';
import { SEARCH_STEP } from '../../src/movements/pages/search.ts';
import { listTransactions } from '../../src/movements/transactions.ts';
import { parseOffset } from '../../src/platform/moment.ts';
import { useDatabase } from '../support/database.ts';
import { type ExplainedStep, findExplain, findScans } from '../support/explain.ts';

const { database } = useDatabase();

const ROWS = 30_000;
/** Customer 1 has two accounts and two thirds of all rows. */
const ACCOUNTS = ['11', '12', '21'];
const ZONE = parseOffset('+03');

beforeAll(async () => {
  await database.query(
    "INSERT INTO customers (id, name, api_secret) VALUES (1, 'Büyük', '-'), (2, 'Küçük', '-')",
  );
  await database.query("INSERT INTO banks (id, customer_id, name) VALUES (1, 1, 'Banka'), (2, 2, 'Banka')");
  for (const accountId of ACCOUNTS) {
    await database.query(
      "INSERT INTO accounts (id, customer_id, bank_id, title, currency) VALUES (?, ?, ?, 'Hesap', 'TRY')",
      [accountId, accountId.charAt(0), accountId.charAt(0)],
    );
  }
  const owners = ACCOUNTS.map((accountId) => ({ customerId: accountId.charAt(0), accountId }));
  await storeHistory(database, owners, ROWS);
  // An hour for each hundred.
  await database.query(
    `INSERT INTO withdrawn_transactions SELECT id + ${ROWS}, t.*, 1, '2026-01-01' + INTERVAL id DIV 100 HOUR
     FROM transactions t ORDER BY id`,
  );
  await database.query('ANALYZE TABLE withdrawn_transactions');
});

/** Explains each statement of work, and runs it. */
async function watch<T>(work: (sql: Sql) => Promise<T>): Promise<{ result: T; steps: ExplainedStep[] }> {
  const explain = await findExplain(database);
  const steps: ExplainedStep[] = [];
  const sql: Sql = {
    async query(statement: string, values?: unknown[]) {
      const rows: ExplainedStep[] = await database.query(`${explain} ${statement}`, values);
      steps.push(...rows.map((row) => ({ ...row, statement })));
      return database.query(statement, values);
    },
  };
  return { result: await work(sql), steps };
}

/** Tables with few rows. */
const SMALL = ['a', 'b', 'o'];

const list = (fields: Partial<Listing>) => {
  const listing: Listing = {
    customerId: '1',
    accountIds: 'all',
    starts: null,
    ends: null,
    after: '2026-01-01 00:00:00',
    cursor: null,
    page: 1,
    perPage: 100,
    isWithdrawn: true,
    ...fields,
  };
  return watch((sql) => listTransactions(sql, listing, ZONE));
};

describe('the listing of withdrawn movements', () => {
  it.each<[string, Partial<Listing>]>([
    ['of a customer', {}],
    ['of an account', { accountIds: ['11'] }],
    ['of the accounts of a limited key', { accountIds: ['11', '12'] }],
    ['from a late moment on', { after: '2026-01-08 00:00:00' }],
    ['behind a cursor', { cursor: String(ROWS + ROWS / 2), filter: { words: ['KIRA'] } }],
  ])('%s walks indexes, and neither sorts nor scans', async (_, fields) => {
    for (const isReversed of [false, true]) {
      const { result, steps } = await list({ ...fields, isReversed });
      expect(result.transactions).toHaveLength(100);
      expect(steps.filter(({ table }) => table === 't').length).toBe(2);
      expect(findScans(steps, SMALL)).toEqual([]);
    }
  });

  it('looks at one movement after another, whatever decides, so that the most are known', async () => {
    const nothing: Partial<Listing>[] = [
      { starts: '2030-01-01' },
      { uniqueId: 'none' },
      { filter: { words: ['NOWHERE'] } },
    ];
    for (const fields of nothing) {
      const { result, steps } = await list(fields);
      expect(result).toMatchObject({ transactions: [], next: null });
      const looks = steps.filter(({ statement }) => statement.includes('withdrawn_transactions_customer'));
      expect(looks.length).toBe((ROWS * 2) / 3 / SEARCH_STEP + 1);
      expect(findScans(steps, SMALL)).toEqual([]);
    }
  });

  it('reads single movements, and what the bank says of them, by indexes', async () => {
    const ids = ['5', '15001'];
    const read = await watch((sql) => readWithdrawn(sql, { customerId: '1' }, { column: 'id', ids }, ZONE));
    expect([...read.result.keys()]).toEqual(['5', '15001']);
    const extended = await watch((sql) => readExtended(sql, ids, 'withdrawn_transactions'));
    expect([...extended.result.extended.keys()].toSorted()).toEqual(ids.toSorted());
    expect(findScans([...read.steps, ...extended.steps], SMALL)).toEqual([]);
  });
});
