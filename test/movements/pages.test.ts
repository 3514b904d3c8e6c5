import { beforeAll, describe, expect, it } from 'vitest';
import { readAll, readPage, uniqueIds } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

let key: string;
let account: string;
let routes: string[];
const NAMES = Array.from({ length: 25 }, (_, i) => `row ${i}`);

beforeAll(async () => {
  key = (await service.customer()).api_key;
  account = (await createAccount(service, key)).id;
  const other = (await createAccount(service, key)).id;
  routes = ['/v1/transactions', `/v1/accounts/${account}/transactions`];
  // Rows of another account and another customer lie in between, so that no page is a plain range of ids.
  const stranger = (await service.customer()).api_key;
  const theirs = (await createAccount(service, stranger)).id;
  for (let i = 0; i < NAMES.length; i += 5) {
    await importMovements(
      service,
      key,
      NAMES.slice(i, i + 5).map((unique_id) => movement(account, { unique_id })),
    );
    await importMovements(service, stranger, [movement(theirs, { unique_id: `theirs ${i}` })]);
    await importMovements(service, key, [
      movement(other, { date_issue: '2020-01-01', unique_id: `other ${i}` }),
    ]);
  }
});

const QUERIES = [
  'starts=2026-01-01',
  'ends=2026-12-31&starts=2026-01-15',
  'starts=2026-01-15&after=2020-01-01 00:00:00',
];

describe('the pages of a listing', () => {
  it.each([1, 2, 7, 24, 25, 26, 1_000])(
    'of size %i show each movement exactly once when Link is followed',
    async (size) => {
      for (const route of routes) {
        for (const query of QUERIES) {
          const rows = await readAll(service, key, `${route}?${query}&per_page=${size}`);
          expect(uniqueIds(rows)).toEqual(NAMES);
        }
      }
    },
  );

  it('are numbered from 1, and empty after the last', async () => {
    for (const route of routes) {
      for (const query of QUERIES) {
        const page = async (number: number, size = 10) =>
          uniqueIds((await readPage(service, key, `${route}?${query}&per_page=${size}&page=${number}`)).rows);
        expect(await page(1)).toEqual(NAMES.slice(0, 10));
        expect(await page(2)).toEqual(NAMES.slice(10, 20));
        expect(await page(3)).toEqual(NAMES.slice(20));
        expect(await page(4)).toEqual([]);
        expect(await page(999_999_999_999, 1_000)).toEqual([]);
        expect(await page(25, 1)).toEqual(NAMES.slice(24));
        expect(await page(26, 1)).toEqual([]);
      }
    }
  });

  it('name the next page until the last, also when they are numbered', async () => {
    for (const route of routes) {
      const first = await readPage(service, key, `${route}?starts=2026-01-01&per_page=10&page=2`);
      const { searchParams } = new URL(first.next ?? '', service.url);
      expect([...searchParams.keys()].sort()).toEqual(['cursor', 'per_page', 'starts']);
      const second = await readPage(service, key, first.next ?? '');
      expect([uniqueIds(second.rows), second.next]).toEqual([NAMES.slice(20), null]);
      expect((await readPage(service, key, `${route}?starts=2026-01-01&per_page=25`)).next).toBeNull();
      expect((await readPage(service, key, `${route}?starts=2026-01-01&page=9`)).next).toBeNull();
    }
  });

  it('accept an after whose "+" is not encoded', async () => {
    const rows = await readAll(service, key, `${routes[1]}?after=2020-01-01 00:00:00+03&per_page=4`);
    expect(uniqueIds(rows)).toEqual(NAMES);
  });

  it('do not show another customer’s movements for its cursor, because a cursor is a position, not a right', async () => {
    const stranger = await service.customer();
    const { next } = await readPage(service, key, '/v1/transactions?starts=2026-01-01&per_page=1');
    expect(await readPage(service, stranger.api_key, next ?? '')).toEqual({ rows: [], next: null });
  });

  it('have a thousand movements when no size is given', async () => {
    const customer = (await service.customer()).api_key;
    const { id } = await createAccount(service, customer);
    await importMovements(
      service,
      customer,
      Array.from({ length: 1_001 }, () => movement(id)),
    );
    const first = await readPage(service, customer, '/v1/transactions?starts=2026-01-01');
    expect(first.rows).toHaveLength(1_000);
    expect((await readPage(service, customer, first.next ?? '')).rows).toHaveLength(1);
  });
});
