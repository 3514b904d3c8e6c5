import fc from 'fast-check';
import type { Listing } from '../../src/movements/listing.ts';
import { movement } from '../support/movements.ts';

const DAY = 86_400_000;

export const dayOf = (number: number) =>
  new Date(Date.parse('2026-01-01') + number * DAY).toISOString().slice(0, 10);

/**
 * The movements of one import. The first account continues day by day. The second is in every fourth import only. The third comes
 * all at once, with days of the year before. The fourth has any days.
 */
export function batch(number: number, [one = '', two = '', three = '', four = '']: string[], limit = 18) {
  return Array.from({ length: limit }, (_, i) => {
    const unique_id = `${number} ${i}`;
    if (i % 5 === 3 && number % 4 === 1) return movement(two, { unique_id, date_issue: dayOf(number) });
    if (number === 6 || number === 7)
      return movement(three, { unique_id, date_issue: dayOf(i - 360 + 20 * number) });
    if (i % 6 === 5) return movement(four, { unique_id, date_issue: dayOf((number * 37 + i * 11) % 28) });
    return movement(one, { unique_id, date_issue: dayOf(Math.max(0, number * 2 - (i % 3))) });
  });
}

export interface Stored {
  id: string;
  account_id: string;
  date_issue: string;
  date_readed: string;
}

export interface Filled {
  customerId: string;
  key: string;
  accounts: string[];
  rows: Stored[];
}

/** The ids that a listing must show. */
export const expected = (rows: readonly Stored[], listing: Listing): string[] =>
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

export const ALL = { starts: null, ends: null, after: null, cursor: null, page: 1, perPage: 1 };

/** Listings with any combination of filters. */
export const listingOf = ({ customerId, accounts, rows }: Filled): fc.Arbitrary<Listing> => {
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
