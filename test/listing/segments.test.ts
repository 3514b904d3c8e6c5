import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Listing, NEAR_PAGES } from '../../src/listing/listing.ts';
import { makeSegments } from '../../src/listing/segment-maker.ts';
import { listTransactions } from '../../src/listing/transactions.ts';
import { parseOffset } from '../../src/zone-offset.ts';
import { readPage } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

const SIZE = 7;
const BATCHES = 14;
const SEED = 20_261_121;
const DAY = 86_400_000;

const dayOf = (number: number) =>
  new Date(Date.parse('2026-01-01') + number * DAY).toISOString().slice(0, 10);

/**
 * The movements of one import. The first account continues day by day. The second is in every fourth import only. The third comes
 * all at once, with days of the year before. The fourth has any days.
 */
function batch(number: number, [one = '', two = '', three = '', four = '']: string[], limit = 18) {
  return Array.from({ length: limit }, (_, i) => {
    const unique_id = `${number} ${i}`;
    if (i % 5 === 3 && number % 4 === 1) return movement(two, { unique_id, date_issue: dayOf(number) });
    if (number === 6 || number === 7)
      return movement(three, { unique_id, date_issue: dayOf(i - 360 + 20 * number) });
    if (i % 6 === 5) return movement(four, { unique_id, date_issue: dayOf((number * 37 + i * 11) % 28) });
    return movement(one, { unique_id, date_issue: dayOf(Math.max(0, number * 2 - (i % 3))) });
  });
}

interface Stored {
  id: string;
  account_id: string;
  date_issue: string;
  date_readed: string;
}

interface Filled {
  customerId: string;
  key: string;
  accounts: string[];
  rows: Stored[];
}

const readRows = (customerId: string): Promise<Stored[]> =>
  service.runtime.database.query(
    `SELECT id, account_id, date_issue, DATE_FORMAT(date_readed, '%Y-%m-%d %H:%i:%s.%f') AS date_readed
     FROM transactions WHERE customer_id = ? ORDER BY id`,
    [customerId],
  );

const make = (most?: number) =>
  makeSegments(service.runtime.database, { size: SIZE, ...(most === undefined ? {} : { most }) });

/** The ids that a listing must show. */
const expected = (rows: readonly Stored[], listing: Listing): string[] =>
  rows
    .filter(
      ({ id, account_id, date_issue, date_readed }) =>
        (listing.accountIds === 'all' || listing.accountIds.includes(account_id)) &&
        (listing.starts === null || date_issue >= listing.starts) &&
        (listing.ends === null || date_issue <= listing.ends) &&
        (listing.after === null || date_readed >= listing.after) &&
        (listing.cursor === null || BigInt(id) > BigInt(listing.cursor)),
    )
    .map(({ id }) => id);

async function read(listing: Listing) {
  const { transactions, next } = await listTransactions(
    service.runtime.database,
    listing,
    parseOffset('+03'),
  );
  return { ids: transactions.map(({ id }) => String(id)), next };
}

/** Checks that each of these pages of a listing is the right slice of all rows. */
async function checkPages(rows: readonly Stored[], listing: Listing, pages: readonly number[]) {
  const all = expected(rows, listing);
  for (const page of pages) {
    const end = page * listing.perPage;
    const ids = all.slice(end - listing.perPage, end);
    const next = all.length > end ? (ids.at(-1) ?? null) : null;
    expect({ listing, page, ...(await read({ ...listing, page })) }).toEqual({ listing, page, ids, next });
  }
}

const farPages = (rows: readonly Stored[], listing: Listing): number[] => {
  const last = Math.ceil(expected(rows, listing).length / listing.perPage);
  return Array.from({ length: Math.max(2, last + 2 - NEAR_PAGES) }, (_, i) => NEAR_PAGES + 1 + i);
};

/** Imports for a new customer, with movements of another customer between its own. */
async function fill(between: (customerId: string, accounts: string[]) => Promise<unknown>): Promise<Filled> {
  const { api_key: key, customer } = await service.customer();
  const stranger = (await service.customer()).api_key;
  const accounts: string[] = [];
  while (accounts.length < 4) accounts.push((await createAccount(service, key)).id);
  const { id: theirs } = await createAccount(service, stranger);
  for (let number = 0; number < BATCHES; number += 1) {
    await importMovements(service, key, batch(number, accounts));
    await importMovements(service, stranger, batch(number, [theirs, theirs, theirs, theirs], 5));
    await between(customer.id, accounts);
  }
  return { customerId: customer.id, key, accounts, rows: await readRows(customer.id) };
}

const ALL = { starts: null, ends: null, after: null, cursor: null, page: 1, perPage: 1 };

/** Listings with any combination of filters. */
const listingOf = ({ customerId, accounts, rows }: Filled): fc.Arbitrary<Listing> => {
  const row = fc.constantFrom(...rows);
  const days = fc
    .tuple(fc.integer({ min: -370, max: 32 }), fc.integer({ min: -370, max: 32 }))
    .map((numbers) => numbers.toSorted((a, b) => a - b).map(dayOf) as [string, string]);
  const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 2 });
  return fc
    .record({
      accountIds: fc.oneof(
        fc.constant('all' as const),
        fc.constantFrom(...accounts).map((id) => [id]),
        fc.subarray(accounts, { minLength: 2 }),
      ),
      days: orNull(days),
      without: fc.constantFrom('nothing', 'starts', 'ends'),
      after: orNull(row.map(({ date_readed }) => date_readed)),
      cursor: orNull(row.map(({ id }) => id)),
      perPage: fc.integer({ min: 1, max: 12 }),
    })
    .map(({ days, without, ...fields }) => ({
      ...ALL,
      ...fields,
      customerId,
      starts: without === 'starts' ? null : (days?.[0] ?? null),
      ends: without === 'ends' ? null : (days?.[1] ?? null),
    }));
};

describe('a far page of a listing', () => {
  let filled: Filled;
  beforeAll(async () => {
    filled = await fill(() => make());
  });

  it.each<[string, (filled: Filled) => Partial<Listing>]>([
    ['all movements', () => ({ starts: '2000-01-01' })],
    ['late starts', () => ({ starts: '2026-01-12' })],
    ['early ends', () => ({ ends: '2026-01-10' })],
    ['both', () => ({ starts: '2026-01-03', ends: '2026-01-21' })],
    ['after', ({ rows }) => ({ after: rows[25]?.date_readed ?? null })],
    ['after and starts', ({ rows }) => ({ after: rows[50]?.date_readed ?? null, starts: '2026-01-05' })],
    ['a cursor', ({ rows }) => ({ cursor: rows[31]?.id ?? null })],
    [
      'a cursor and both dates',
      ({ rows }) => ({ cursor: rows[3]?.id ?? null, starts: '2026-01-01', ends: '2026-01-22' }),
    ],
    ['one account', ({ accounts }) => ({ accountIds: accounts.slice(0, 1), starts: '2026-01-02' })],
    [
      'an account that comes all at once',
      ({ accounts }) => ({ accountIds: accounts.slice(2, 3), starts: '2025-03-01' }),
    ],
    [
      'an account of any days',
      ({ accounts }) => ({ accountIds: accounts.slice(3), starts: '2026-01-09', ends: '2026-01-20' }),
    ],
    [
      'some accounts',
      ({ accounts }) => ({ accountIds: accounts.slice(1), starts: '2025-03-01', ends: '2026-01-20' }),
    ],
  ])('by %s is that part of all its rows', async (_name, fields) => {
    for (const perPage of [1, 2, 3]) {
      const listing = {
        ...ALL,
        customerId: filled.customerId,
        accountIds: 'all' as const,
        perPage,
        ...fields(filled),
      };
      await checkPages(filled.rows, listing, farPages(filled.rows, listing));
    }
  });

  it('is that for any filters together', async () => {
    await fc.assert(
      fc.asyncProperty(listingOf(filled), fc.nat(), async (listing, at) => {
        const pages = farPages(filled.rows, listing);
        await checkPages(filled.rows, listing, [pages[at % pages.length] ?? 0]);
      }),
      { numRuns: 300, seed: SEED },
    );
  });

  it('is that over HTTP, for a key limited to accounts too', async () => {
    const { key, accounts, rows, customerId } = filled;
    const limited = accounts.slice(0, 2);
    const { body } = await service.call('POST', '/v1/apikeys', {
      key,
      body: { title: 'Dar', account: limited },
    });
    for (const [caller, accountIds] of [
      [key, 'all'],
      [body.apikey.apikey, limited],
    ] as const) {
      const listing: Listing = { ...ALL, customerId, accountIds, starts: '2026-01-02' };
      for (const page of [NEAR_PAGES + 30, NEAR_PAGES + 1, NEAR_PAGES + 79]) {
        const path = `/v1/transactions?starts=2026-01-02&per_page=1&page=${page}`;
        const ids = (await readPage(service, caller, path)).rows.map(({ id }) => id);
        expect(ids).toEqual(expected(rows, listing).slice(page - 1, page));
        expect(ids).toHaveLength(1);
      }
    }
  });

  it('is that where more segments lie across the dates than are counted', async () => {
    const { api_key: key, customer } = await service.customer();
    const { id } = await createAccount(service, key);
    for (let number = 0; number < 5; number += 1) {
      const days = Array.from({ length: 100 }, (_, i) =>
        movement(id, { unique_id: `${number} ${i}`, date_issue: dayOf(i % 3) }),
      );
      await importMovements(service, key, days);
    }
    expect(await makeSegments(service.runtime.database, { size: 3, most: 1_000 })).toBeGreaterThan(150);
    const rows = await readRows(customer.id);
    const listing = {
      ...ALL,
      customerId: customer.id,
      accountIds: 'all' as const,
      starts: dayOf(1),
      ends: dayOf(1),
    };
    await checkPages(rows, listing, [99, 100, 101, 102, 103, 130, 165, 166, 167, 168, 999_999_999]);
  });
});

it('shows each far page while imports go on and segments are made', async () => {
  let made = 0;
  let checked = 0;
  await fill(async (customerId, accounts) => {
    // At most two segments each time, so that some movements are not in a segment yet and must be walked.
    made += await make(checked % 3);
    const rows = await readRows(customerId);
    for (const accountIds of ['all', [accounts[0] ?? ''], accounts.slice(0, 2)] as const) {
      const listing = { ...ALL, customerId, accountIds, starts: dayOf(1) };
      await checkPages(
        rows,
        listing,
        farPages(rows, listing).filter((page) => page % 5 === checked % 5),
      );
    }
    checked += 1;
  });
  expect(made).toBeGreaterThan(5);
});
