import type { QueryRunner } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advanceImportLocks } from '../../bench/filled-tables.ts';
import { storeHistory } from '../../bench/history.ts';
import type { Sql } from '../../src/database/transaction.ts';
import { type Listing, NEAR_PAGES } from '../../src/movements/listing.ts';
import { MOST_SEARCHED } from '../../src/movements/pages/search.ts';
import { makeSegment, makeSegments, SEGMENT_SIZE } from '../../src/movements/segments.ts';
import { listTransactions } from '../../src/movements/transactions.ts';
import { parseOffset } from '../../src/platform/moment.ts';
import { useDatabase } from '../support/database.ts';
import { findExplain } from '../support/explain.ts';

const { database } = useDatabase();

const ROWS = 1_000_000;
/** Steps to the smallest and the largest id of 730 days of four accounts. With only a few days MySQL would read all ids instead. */
const STEPS = 4 * 730 * 3;
/** Customer 1 has four accounts and four fifths of all rows. Customer 2 has two accounts. */
const ACCOUNTS = ['11', '12', '13', '14', '21', '11', '12', '13', '14', '22'];
const ID_MIDDLE = `SELECT id FROM transactions WHERE unique_id = LPAD(${ROWS / 2}, 12, '0')`;

/** All statements run in one session, because the counters are per session. */
let session: QueryRunner;
let middle: string;

beforeAll(async () => {
  await database.query(
    "INSERT INTO customers (id, name, api_secret) VALUES (1, 'Büyük', '-'), (2, 'Küçük', '-')",
  );
  await database.query("INSERT INTO banks (id, customer_id, name) VALUES (1, 1, 'Banka'), (2, 2, 'Banka')");
  const owners = ACCOUNTS.map((accountId) => ({ customerId: accountId.charAt(0), accountId }));
  for (const accountId of new Set(ACCOUNTS)) {
    await database.query(
      "INSERT INTO accounts (id, customer_id, bank_id, title, currency) VALUES (?, ?, ?, 'Hesap', 'TRY')",
      [accountId, accountId.charAt(0), accountId.charAt(0)],
    );
  }
  await storeHistory(database, owners, ROWS);
  session = database.createQueryRunner();
  [{ id: middle }] = await session.query(ID_MIDDLE);
}, 240_000);
afterAll(() => session?.release());

interface Step {
  table: string | null;
  type: string | null;
  key: string | null;
  Extra: string | null;
}

interface Run {
  rows: number;
  /** Index entries and rows that MySQL examined, including those that it filtered in an index. */
  examined: number;
  statements: { sql: string; steps: Step[] }[];
}

/** Without Handler_read_rnd_next, the only counter that reading the counters increases (they are in a temporary table). */
const COUNTERS = `SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler%' AND Variable_name <> 'Handler_read_rnd_next'`;

async function countExamined(): Promise<number> {
  const counters: { Variable_name: string; Value: string }[] = await session.query(COUNTERS);
  return counters
    .filter(({ Variable_name: name }) => /^Handler_(read_.*|icp_attempts)$/.test(name))
    .reduce((sum, { Value }) => sum + Number(Value), 0);
}

/** Explains each statement that `work` runs, and counts what it examines. */
async function watch<T>(work: (sql: Sql) => Promise<T>): Promise<Omit<Run, 'rows'> & { result: T }> {
  const statements: Run['statements'] = [];
  let examined = 0;
  const explain = await findExplain(session);
  const sql: Sql = {
    async query(statement: string, values?: unknown[]) {
      statements.push({ sql: statement, steps: await session.query(`${explain} ${statement}`, values) });
      const before = await countExamined();
      const rows = await session.query(statement, values);
      examined += (await countExamined()) - before;
      return rows;
    },
  };
  return { result: await work(sql), examined, statements };
}

/** Runs a listing, whose page must be full. */
async function run(fields: Partial<Listing>): Promise<Run> {
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
  const { result, ...watched } = await watch((sql) => listTransactions(sql, listing, parseOffset('+03')));
  expect(result.transactions).toHaveLength(listing.perPage);
  return { rows: result.transactions.length, ...watched };
}

const SCOPES: [string, Partial<Listing>][] = [
  ['all of the largest customer', {}],
  ['all of a small customer', { customerId: '2' }],
  ['one account', { accountIds: ['11'] }],
  ['one account of a small customer', { customerId: '2', accountIds: ['21'] }],
  ['some accounts of a limited key', { accountIds: ['11', '13'] }],
];
/** Pages that are found by walking from where the listing begins. What is examined grows with the page alone. */
const NEAR: [string, () => Partial<Listing>][] = [
  ['starts', () => ({ starts: '2024-01-01' })],
  ['ends', () => ({ ends: '2025-03-01' })],
  ['starts and ends', () => ({ starts: '2023-02-01', ends: '2025-03-01' })],
  ['after', () => ({ after: '2025-05-01 00:00:00' })],
  ['starts and after', () => ({ starts: '2024-06-01', after: '2025-05-01 00:00:00' })],
  ['all three', () => ({ starts: '2024-01-01', ends: '2025-12-01', after: '2025-01-01 00:00:00' })],
  ['a cursor', () => ({ starts: '2024-01-01', cursor: middle })],
  ['a cursor and ends', () => ({ ends: '2025-12-01', cursor: middle })],
  ['a cursor and after', () => ({ after: '2024-02-01 00:00:00', cursor: middle })],
  ['the second page', () => ({ starts: '2024-01-01', page: 2 })],
  ['the third page behind a cursor', () => ({ starts: '2024-01-01', page: 3, cursor: middle })],
  ['order=newest', () => ({ starts: '2024-01-01', isReversed: true })],
  ['order=newest and ends', () => ({ ends: '2026-01-01', isReversed: true, page: 2 })],
  [
    'order=newest, a cursor and after',
    () => ({ after: '2024-02-01 00:00:00', cursor: middle, isReversed: true }),
  ],
  ['dc', () => ({ starts: '2024-01-01', dc: 'Credit' })],
  [
    'dc, order=newest and a cursor',
    () => ({ starts: '2024-01-01', dc: 'Credit', cursor: middle, isReversed: true }),
  ],
];
/** Pages that are found by the range of the dates' ids. What is examined also grows with the days and accounts. */
const FAR: [string, () => Partial<Listing>][] = [
  ['late starts', () => ({ starts: '2025-06-01' })],
  ['a late range', () => ({ starts: '2025-02-01', ends: '2025-03-01' })],
  ['a single day', () => ({ starts: '2025-02-01', ends: '2025-02-01' })],
  ['a late day after', () => ({ starts: '2025-09-01', ends: '2025-09-01', after: '2024-03-01 00:00:00' })],
  ['a late day behind a cursor', () => ({ starts: '2025-09-01', ends: '2025-09-01', cursor: middle })],
  ['an early day, order=newest', () => ({ starts: '2024-04-01', ends: '2024-04-01', isReversed: true })],
  ['a late day and dc', () => ({ starts: '2025-02-01', ends: '2025-02-03', dc: 'Credit' })],
];
/** The first page that is too far to walk to from where the listing begins. */
const DEEP = NEAR_PAGES + 1;
const NUMBERED: [string, () => Partial<Listing>][] = [
  ['a deep page', () => ({ starts: '2024-01-01', page: DEEP })],
  ['a deep page of late starts', () => ({ starts: '2025-06-01', page: DEEP })],
  ['a deep page after', () => ({ after: '2024-02-01 00:00:00', page: DEEP })],
];

describe.each(SCOPES)('the listing of %s', (_scope, scope) => {
  it.each([...NEAR, ...FAR, ...NUMBERED])(
    'by %s walks indexes in order of id, and neither sorts nor scans',
    async (_shape, shape) => {
      let checked = 0;
      for (const { sql, steps } of (await run({ ...scope, ...shape() })).statements) {
        for (const { table, type, key, Extra } of steps) {
          if (table !== 't' && table !== 'transactions') continue;
          checked += 1;
          const plan = `${sql}\n${JSON.stringify(steps)}`;
          expect(type, plan).toMatch(/^(const|eq_ref|ref|range)$/);
          expect(key, plan).not.toBeNull();
          expect(Extra ?? '', plan).not.toMatch(/Using (filesort|temporary)/);
        }
      }
      expect(checked).toBeGreaterThan(0);
    },
  );

  // The look-ahead reads two pages in the index, and then the page is read. A limited API key sees half of its customer's rows.
  const ofPage = (perPage: number) => (scope.accountIds?.length === 2 ? 2 : 1) * 6 * perPage + 100;

  it.each(NEAR)('by %s reads little more than the rows up to the end of its page', async (_shape, shape) => {
    for (const perPage of [10, 100, 1_000]) {
      const fields = shape();
      const { examined } = await run({ ...scope, ...fields, perPage });
      expect(examined).toBeGreaterThanOrEqual(perPage);
      expect(examined).toBeLessThan(ofPage((fields.page ?? 1) * perPage));
    }
  });

  // Between the beginning of the listing and these dates are 50,000 rows in the smallest scope, and half a million in the largest.
  it.each(FAR)('by %s steps from day to day to the start of its page', async (_shape, shape) => {
    const { examined } = await run({ ...scope, ...shape() });
    expect(examined).toBeLessThan(ofPage(100) + STEPS);
  });

  it.each(NUMBERED)('by %s reads the rows before its page in the index alone', async (_shape, shape) => {
    const { examined } = await run({ ...scope, ...shape() });
    expect(examined).toBeLessThan(ofPage(DEEP * 100) + STEPS);
  });
});

describe.each(SCOPES)('a search in the listing of %s', (_scope, scope) => {
  const NOWHERE = { words: ['NOWHERE'] };
  const searchIn = async (fields: Partial<Listing>) => {
    const listing: Listing = {
      customerId: '1',
      accountIds: 'all',
      starts: null,
      ends: null,
      after: '2000-01-01 00:00:00',
      cursor: null,
      page: 1,
      perPage: 100,
      ...scope,
      ...fields,
    };
    return watch((sql) => listTransactions(sql, listing, parseOffset('+03')));
  };

  it.each([false, true])(
    'ends after the most movements that it looks at, and goes on behind them; newest first: %s',
    async (isReversed) => {
      const { customerId = '1', accountIds = ACCOUNTS } = scope;
      const [{ movements }] = await session.query(
        'SELECT COUNT(*) AS movements FROM transactions WHERE customer_id = ? AND account_id IN (?)',
        [customerId, accountIds],
      );
      const wanted = Math.floor(movements / MOST_SEARCHED) + 1;
      let pages = 0;
      let cursor: string | null = null;
      do {
        const { result, examined, statements } = await searchIn({ filter: NOWHERE, cursor, isReversed });
        expect(result.transactions).toEqual([]);
        // The other half of the movements of a limited key is skipped in the index.
        expect(examined).toBeLessThan(3.5 * MOST_SEARCHED);
        for (const { sql, steps } of statements) {
          for (const { table, type, Extra } of steps) {
            if (table !== 't') continue;
            expect(type, sql).toMatch(/^(const|eq_ref|ref|range)$/);
            expect(Extra ?? '', sql).not.toMatch(/Using (filesort|temporary)/);
          }
        }
        pages += 1;
        cursor = result.next;
      } while (cursor !== null);
      expect(pages).toBe(wanted);
    },
  );
});

describe('with segments', () => {
  beforeAll(async () => {
    await database.query('INSERT INTO import_locks (customer_id) VALUES (1), (2)');
    await advanceImportLocks(database);
    expect(await makeSegments(database, { most: 99 })).toBe(99);
  });

  it('a segment is made by two walks in order of id, which read its own movements alone', async () => {
    const { result, examined, statements } = await watch((sql) => makeSegment(sql, '2', SEGMENT_SIZE));
    expect(result).toBe(true);
    for (const { sql, steps } of statements) {
      for (const { table, type, key } of steps) {
        if (table !== 'transactions') continue;
        expect([type, key], sql).toEqual(['range', 'transactions_customer_page']);
      }
    }
    // Two walks, and one look-up per movement among the accounts that they are grouped by.
    expect(examined).toBeLessThan(3.1 * SEGMENT_SIZE);
  });

  /** A page in the middle of a segment, in the smallest scope too. 75,000 movements of the listing come before it. */
  const FAR_PAGE = 751;
  const SEEKS: [string, () => Partial<Listing>][] = [
    ['early starts', () => ({ starts: '2023-12-31', page: FAR_PAGE })],
    ['starts', () => ({ starts: '2024-03-01', page: FAR_PAGE })],
    ['starts and ends', () => ({ starts: '2024-01-20', ends: '2025-11-01', page: FAR_PAGE })],
    ['after', () => ({ after: '2024-03-01 00:00:00', page: FAR_PAGE })],
    [
      'all three',
      () => ({ starts: '2024-03-01', ends: '2025-11-01', after: '2024-02-01 00:00:00', page: FAR_PAGE }),
    ],
    ['a cursor', () => ({ starts: '2024-03-01', cursor: '150000', page: FAR_PAGE })],
  ];

  describe.each(SCOPES)('a far page of the listing of %s', (_scope, scope) => {
    it.each(SEEKS)(
      'by %s is found by its segment, without reading the pages before it',
      async (_shape, shape) => {
        const { examined, statements } = await run({ ...scope, ...shape() });
        for (const { sql, steps } of statements) {
          for (const { table, type, key, Extra } of steps) {
            if (table !== 't' && table !== 'transactions' && table !== 'transaction_segments') continue;
            const plan = `${sql}\n${JSON.stringify(steps)}`;
            expect(type, plan).toMatch(/^(const|eq_ref|ref|range)$/);
            expect(key, plan).not.toBeNull();
            // The segments of several accounts are sorted. They are a thousandth of the number of movements.
            if (table !== 'transaction_segments' || scope.accountIds?.length !== 2)
              expect(Extra ?? '', plan).not.toMatch(/Using (filesort|temporary)/);
          }
        }
        expect(statements.map(({ sql }) => sql).join()).not.toContain('transactions_account_date');
        expect(examined).toBeLessThan(2.5 * SEGMENT_SIZE);
      },
    );
  });
});
