import type { Sql } from '../database/transaction.ts';
import { conditions } from './conditions.ts';
import type { IdRange } from './id-range.ts';
import type { Listing } from './listing.ts';
import { ALL_ACCOUNTS } from './segment-maker.ts';

/** Where to begin walking towards a page. */
export interface Place {
  range: IdRange;
  /** So many of the listing's movements in the range come before the page. */
  offset: number;
  /** The page is known to be full, and not to be the last one. */
  full: boolean;
}

/** One after the other: a request makes no more statements than that, and walks on in one from there. */
const MOST_COUNTED = 100;

/**
 * A segment of the listing: how many of its movements lie between the dates for certain, since all of an account's do, and
 * whether others may. Only where several accounts are named are their rows sorted by segment.
 */
const SEGMENTS = `
  SELECT last_id, SUM(IF(first_date_issue >= ? AND last_date_issue <= ?, movements, 0)) AS inside,
    MAX(last_date_issue >= ? AND first_date_issue <= ? AND NOT (first_date_issue >= ? AND last_date_issue <= ?)) AS mixed
  FROM transaction_segments WHERE customer_id = ? AND account_id IN (?) AND last_id >= ?
  GROUP BY last_id ORDER BY last_id`;

/**
 * Leaps over what comes before a page: segments that lie between the dates are skipped by their counts, those that lie
 * outside by nothing, and only those of which a part does are walked. Movements are only ever added behind all segments,
 * so that nothing in them changes meanwhile. Where there are none, it is the listing's own beginning.
 * @param range where the listing begins, its dates left aside.
 */
export async function seek(sql: Sql, listing: Listing, range: IdRange): Promise<Place> {
  const { customerId, accountIds, page, perPage } = listing;
  const dates = [listing.starts ?? '1000-01-01', listing.ends ?? '9999-12-31'];
  const rows = await sql.query<{ last_id: string; inside: string; mixed: string }[]>(SEGMENTS, [
    ...dates,
    ...dates,
    ...dates,
    customerId,
    accountIds === 'all' ? [ALL_ACCOUNTS] : accountIds,
    range.first,
  ]);
  const segments = rows.map(({ last_id: last, inside, mixed }, index) => {
    const movements = Number(inside);
    // The range may begin in the midst of the first one.
    const cut = index === 0 && range.first !== '1' && movements > 0;
    return { last, movements, certain: Number(mixed) === 0 && !cut };
  });

  let { first } = range;
  let offset = (page - 1) * perPage;
  let passed = 0;
  let counted = 0;
  for (const { last, movements, certain } of segments) {
    if (!certain && counted === MOST_COUNTED) break;
    if (!certain) counted += 1;
    const before = certain ? movements : await count(sql, listing, { first, last });
    if (before > offset) break;
    offset -= before;
    first = String(BigInt(last) + 1n);
    passed += 1;
  }
  const behind = segments.slice(passed).filter(({ certain }) => certain);
  const atLeast = behind.reduce((sum, { movements }) => sum + movements, 0);
  return { range: { ...range, first }, offset, full: atLeast > offset + perPage };
}

async function count(sql: Sql, listing: Listing, range: IdRange): Promise<number> {
  const { index, where, values } = conditions(listing, range);
  const [row] = await sql.query<{ movements: string }[]>(
    `SELECT COUNT(*) AS movements FROM transactions t FORCE INDEX (${index}) WHERE ${where}`,
    values,
  );
  return Number(row?.movements);
}
