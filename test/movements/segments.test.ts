import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Listing, NEAR_PAGES } from '../../src/movements/listing.ts';
import { makeSegments } from '../../src/movements/segments.ts';
import { listTransactions } from '../../src/movements/transactions.ts';
import { parseOffset } from '../../src/platform/moment.ts';
import { readPage } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { ALL, batch, dayOf, expected, type Filled, listingOf, type Stored } from './far-pages.ts';

const service = useService({ roles: ['api', 'importer'] });

const SIZE = 7;
const BATCHES = 14;
const SEED = 20_261_121;

const readRows = (customerId: string): Promise<Stored[]> =>
  service.runtime.database.query(
    `SELECT id, account_id, date_issue, DATE_FORMAT(date_readed, '%Y-%m-%d %H:%i:%s.%f') AS date_readed
     FROM transactions WHERE customer_id = ? ORDER BY id`,
    [customerId],
  );

const make = (most?: number) =>
  makeSegments(service.runtime.database, { size: SIZE, ...(most === undefined ? {} : { most }) });

async function read(listing: Listing) {
  const { transactions, next } = await listTransactions(
    service.runtime.database,
    listing,
    parseOffset('+03'),
  );
  return { ids: transactions.map(({ id }) => id), next };
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

describe('a far page of a listing', () => {
  let filled: Filled;
  beforeAll(async () => {
    filled = await fill(() => make());
  });

  it.each<[string, (filled: Filled) => Partial<Listing>]>([
    ['all movements', () => ({ starts: '2000-01-01' })],
    ['late starts', () => ({ starts: '2026-01-12' })],
    ['early ends', () => ({ ends: '2026-01-10' })],
    ['both dates', () => ({ starts: '2026-01-03', ends: '2026-01-21' })],
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
  ])('by %s is the right slice of all movements', async (_name, fields) => {
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

  it('with any combination of filters is the right slice of all movements', async () => {
    await fc.assert(
      fc.asyncProperty(listingOf(filled), fc.nat(), async (listing, at) => {
        const pages = farPages(filled.rows, listing);
        await checkPages(filled.rows, listing, [pages[at % pages.length] ?? 0]);
      }),
      { numRuns: 300, seed: SEED },
    );
  });

  it('has the right movements over HTTP, also for a key limited to accounts', async () => {
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

  it('has the right movements where more segments span the dates than are counted', async () => {
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

it('a listing shows each far page while imports go on and segments are made', async () => {
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
