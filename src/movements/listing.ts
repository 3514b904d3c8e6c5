import type { Sql } from '../database/transaction.ts';
import { ALL_ACCOUNTS } from './segments.ts';

/** Finds where a page of a listing of movements begins. */

/** The movements to list, and the page of them. Order: id ascending. */
export interface Listing {
  customerId: string;
  /** The accounts to list. 'all': every account of the customer. */
  accountIds: 'all' | readonly string[];
  /** Inclusive, on date_issue. */
  starts: string | null;
  ends: string | null;
  /** Inclusive, on date_readed; UTC as MySQL writes it. */
  after: string | null;
  /** The listing begins after this id. null: from the first movement. */
  cursor: string | null;
  /** The page number, from 1. Counted from the cursor, if there is one. */
  page: number;
  perPage: number;
}

/** A page up to this far from a known position is reached by walking the index: about 4 ms with a thousand rows per page. */
export const NEAR_PAGES = 20;

/** The WHERE clause, its values and the index to use. Both indexes contain all columns that are filtered by. */
export function conditions(
  { accountIds, customerId, starts, ends }: Listing,
  { first, last }: IdRange,
): { index: string; where: string; values: unknown[] } {
  const single = accountIds !== 'all' && accountIds.length === 1;
  const clauses = [single ? 't.account_id = ?' : 't.customer_id = ?', 't.id BETWEEN ? AND ?'];
  const values: unknown[] = [single ? accountIds[0] : customerId, first, last];
  if (accountIds !== 'all' && !single) {
    clauses.push('t.account_id IN (?)');
    values.push(accountIds);
  }
  if (starts !== null) {
    clauses.push('t.date_issue >= ?');
    values.push(starts);
  }
  if (ends !== null) {
    clauses.push('t.date_issue <= ?');
    values.push(ends);
  }
  return {
    index: single ? 'transactions_account_page' : 'transactions_customer_page',
    where: clauses.join(' AND '),
    values,
  };
}

/** A range of ids that contains all movements of a listing. Both ends are inclusive. */
export interface IdRange {
  first: string;
  last: string;
}

/** Largest BIGINT UNSIGNED. */
const LAST_ID = '18446744073709551615';

/**
 * Finds the first id since a moment. A customer's ids and date_readed grow together, so all movements since then follow it. Index:
 * transactions_readed.
 */
export const FIRST_READ_AFTER = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed >= ? ORDER BY date_readed, id LIMIT 1`;

/**
 * Takes the smallest and the largest id of each day of each account, and then the extremes of these. In the index
 * transactions_account_date, this takes one step per day, however many movements a day has.
 */
const FIND_RANGE_OF_DATES = `
  SELECT MIN(first) AS first, MAX(last) AS last FROM (
    SELECT MIN(id) AS first, MAX(id) AS last FROM transactions FORCE INDEX (transactions_account_date)
    WHERE account_id IN (?) AND date_issue >= ? AND date_issue <= ? GROUP BY account_id, date_issue) days`;

const FIND_ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';

/** Finds where a listing begins, from its cursor and `after`. Ignores its dates. @returns null when nothing can match. */
export async function findIdRange(sql: Sql, listing: Listing): Promise<IdRange | null> {
  if (listing.accountIds !== 'all' && listing.accountIds.length === 0) return null;
  const afterCursor = listing.cursor === null ? 1n : BigInt(listing.cursor) + 1n;
  if (listing.after === null) return { first: String(afterCursor), last: LAST_ID };
  const [read] = await sql.query<{ id: string }[]>(FIRST_READ_AFTER, [listing.customerId, listing.after]);
  return read === undefined ? null : { first: String(greater(afterCursor, BigInt(read.id))), last: LAST_ID };
}

/** Narrows a range to the ids between `starts` and `ends`. @returns null when nothing can match. */
export async function narrowToDates(sql: Sql, listing: Listing, range: IdRange): Promise<IdRange | null> {
  const accountIds =
    listing.accountIds === 'all'
      ? (await sql.query<{ id: string }[]>(FIND_ACCOUNTS, [listing.customerId])).map(({ id }) => id)
      : listing.accountIds;
  if (accountIds.length === 0) return null;
  const [dates] = await sql.query<{ first: string | null; last: string | null }[]>(FIND_RANGE_OF_DATES, [
    accountIds,
    listing.starts ?? '1000-01-01',
    listing.ends ?? '9999-12-31',
  ]);
  if (dates?.first == null || dates.last === null) return null;
  const first = greater(BigInt(range.first), BigInt(dates.first));
  return first > BigInt(dates.last) ? null : { first: String(first), last: dates.last };
}

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The place at which to start walking to a page. */
export interface PageStart {
  range: IdRange;
  /** Number of the listing's movements in the range that come before the page. */
  offset: number;
  /** It is known that the page is full and not the last page. */
  full: boolean;
}

/** Each count is one SQL statement. After this many, a request walks the rest of the way in one statement. */
const MAX_COUNTS = 100;

/**
 * For each segment, the number of movements that certainly lie between the dates, because all movements of their account in the
 * segment do, and whether others may. Rows are sorted by segment only for several accounts.
 */
const READ_SEGMENTS = `
  SELECT last_id, SUM(IF(first_date_issue >= ? AND last_date_issue <= ?, movements, 0)) AS inside,
    MAX(last_date_issue >= ? AND first_date_issue <= ? AND NOT (first_date_issue >= ? AND last_date_issue <= ?)) AS mixed
  FROM transaction_segments WHERE customer_id = ? AND account_id IN (?) AND last_id >= ?
  GROUP BY last_id ORDER BY last_id`;

/**
 * Finds where to start walking to a far page. Skips a segment before the page without reading its movements if all or none of them
 * lie between the dates. If only some do, counts them in the index. New movements come after the last segment. Removing movements
 * lowers the counts of their segment; see subtractFromSegment. Without segments, returns the beginning of the listing.
 * @param range where the listing begins, ignoring its dates.
 */
export async function seek(sql: Sql, listing: Listing, range: IdRange): Promise<PageStart> {
  const { customerId, accountIds, page, perPage } = listing;
  const dates = [listing.starts ?? '1000-01-01', listing.ends ?? '9999-12-31'];
  const rows = await sql.query<{ last_id: string; inside: string; mixed: string }[]>(READ_SEGMENTS, [
    ...dates,
    ...dates,
    ...dates,
    customerId,
    accountIds === 'all' ? [ALL_ACCOUNTS] : accountIds,
    range.first,
  ]);
  const segments = rows.map(({ last_id: last, inside, mixed }, index) => {
    const movements = Number(inside);
    // The range may begin in the middle of the first segment.
    const cut = index === 0 && range.first !== '1' && movements > 0;
    return { last, movements, certain: Number(mixed) === 0 && !cut };
  });

  let { first } = range;
  let offset = (page - 1) * perPage;
  let skipped = 0;
  let counted = 0;
  for (const { last, movements, certain } of segments) {
    if (!certain && counted === MAX_COUNTS) break;
    if (!certain) counted += 1;
    const before = certain ? movements : await count(sql, listing, { first, last });
    if (before > offset) break;
    offset -= before;
    first = String(BigInt(last) + 1n);
    skipped += 1;
  }
  const following = segments.slice(skipped).filter(({ certain }) => certain);
  const atLeast = following.reduce((sum, { movements }) => sum + movements, 0);
  return { range: { ...range, first }, offset, full: atLeast > offset + perPage };
}

export async function count(sql: Sql, listing: Listing, range: IdRange): Promise<number> {
  const { index, where, values } = conditions(listing, range);
  const [row] = await sql.query<{ movements: string }[]>(
    `SELECT COUNT(*) AS movements FROM transactions t FORCE INDEX (${index}) WHERE ${where}`,
    values,
  );
  return Number(row?.movements);
}
