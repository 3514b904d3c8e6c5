import { describe, expect, it } from 'vitest';
import type { Listing } from '../../src/movements/listing.ts';
import {
  createPageOffsetCache,
  type ListedTransaction,
  type Page,
} from '../../src/movements/transactions.ts';
import { readPage, uniqueIds } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const LISTING: Listing = {
  customerId: '1',
  accountIds: 'all',
  starts: '2026-01-01',
  ends: null,
  after: null,
  cursor: null,
  page: 2,
  perPage: 10,
};
const page = (first: string, next: string | null): Page => ({
  transactions: [{ id: first } as ListedTransaction],
  next,
});

describe('the start of a numbered page', () => {
  it('is where the page before it ended, or where the page itself began when it was read before', () => {
    const marks = createPageOffsetCache();
    expect(marks.shorten(LISTING)).toEqual(LISTING);
    marks.keep({ ...LISTING, page: 1 }, page('5', '40'));
    expect(marks.shorten(LISTING)).toEqual({ ...LISTING, page: 1, cursor: '40' });
    marks.keep({ ...LISTING, page: 7 }, page('700', null));
    expect(marks.shorten({ ...LISTING, page: 7 })).toEqual({ ...LISTING, page: 1, cursor: '699' });
  });

  it('is counted from the nearest earlier page that is known, unless that page is far away', () => {
    const marks = createPageOffsetCache();
    marks.keep({ ...LISTING, page: 7 }, page('700', '800'));
    expect(marks.shorten({ ...LISTING, page: 6 })).toEqual({ ...LISTING, page: 6 });
    expect(marks.shorten({ ...LISTING, page: 9 })).toEqual({ ...LISTING, page: 2, cursor: '800' });
    expect(marks.shorten({ ...LISTING, page: 27 })).toEqual({ ...LISTING, page: 20, cursor: '800' });
    expect(marks.shorten({ ...LISTING, page: 28 })).toEqual({ ...LISTING, page: 28 });
  });

  it.each<Partial<Listing>>([
    { customerId: '2' },
    { accountIds: ['1'] },
    { starts: '2026-01-02' },
    { ends: '2026-01-02' },
    { after: '2026-01-01 00:00:00' },
    { perPage: 11 },
  ])('is not taken from another listing: %j', (other) => {
    const marks = createPageOffsetCache();
    marks.keep({ ...LISTING, page: 1 }, page('5', '40'));
    expect(marks.shorten({ ...LISTING, ...other })).toEqual({ ...LISTING, ...other });
  });

  it('is forgotten after ten minutes, and the oldest is forgotten when there are too many', () => {
    let now = 1;
    const marks = createPageOffsetCache({ kept: 2, clock: () => now });
    for (const number of [1, 2, 3]) marks.keep({ ...LISTING, page: number, cursor: null }, page('1', '9'));
    const known = () => [2, 3, 4].filter((number) => marks.shorten({ ...LISTING, page: number }).page === 1);
    expect(known()).toEqual([3, 4]);
    now += 11 * 60_000;
    expect(known()).toEqual([]);
  });
});

describe('a listing that is read by page numbers', () => {
  const service = useService({ roles: ['api', 'importer'] });

  it('shows the same pages again, and continues with movements that were added meanwhile', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key);
    const names = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => `row ${from + i}`);
    const add = (all: string[]) =>
      importMovements(
        service,
        key,
        all.map((unique_id) => movement(id, { unique_id })),
      );
    const read = async (number: number) => {
      const path = `/v1/transactions?starts=2026-01-01&per_page=5&page=${number}`;
      return uniqueIds((await readPage(service, key, path)).rows);
    };

    await add(names(0, 13));
    for (let again = 0; again < 2; again += 1) {
      expect(await read(1)).toEqual(names(0, 5));
      expect(await read(3)).toEqual(names(10, 13));
      expect(await read(2)).toEqual(names(5, 10));
      expect(await read(4)).toEqual([]);
    }
    await add(names(13, 22));
    expect(await read(5)).toEqual(names(20, 22));
    expect(await read(4)).toEqual(names(15, 20));
    expect(await read(3)).toEqual(names(10, 15));
    expect(await read(5)).toEqual(names(20, 22));
  });
});
