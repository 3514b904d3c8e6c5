import type { Sql } from '../database/transaction.ts';
import type { Listing } from './listing.ts';
import { ALL_ACCOUNTS } from './segment-maker.ts';

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
const RANGE_OF_DATES = `
  SELECT MIN(first) AS first, MAX(last) AS last FROM (
    SELECT MIN(id) AS first, MAX(id) AS last FROM transactions FORCE INDEX (transactions_account_date)
    WHERE account_id IN (?) AND date_issue >= ? AND date_issue <= ? GROUP BY account_id, date_issue) days`;

const ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';

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
      ? (await sql.query<{ id: string }[]>(ACCOUNTS, [listing.customerId])).map(({ id }) => id)
      : listing.accountIds;
  if (accountIds.length === 0) return null;
  const [dates] = await sql.query<{ first: string | null; last: string | null }[]>(RANGE_OF_DATES, [
    accountIds,
    listing.starts ?? '1000-01-01',
    listing.ends ?? '9999-12-31',
  ]);
  if (dates?.first == null || dates.last === null) return null;
  const first = greater(BigInt(range.first), BigInt(dates.first));
  return first > BigInt(dates.last) ? null : { first: String(first), last: dates.last };
}

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Index: the primary key. */
const IN_SEGMENTS = `
  SELECT COALESCE(SUM(s.movements), 0) AS movements, COALESCE(MAX(c.last_id), 0) AS last_id
  FROM segment_checkpoints c
  LEFT JOIN transaction_segments s ON s.customer_id = c.customer_id AND s.account_id = ? WHERE c.customer_id = ?`;

/** The indexes have all columns that are read. */
const BEYOND = {
  customer:
    'SELECT COUNT(*) AS movements FROM transactions FORCE INDEX (transactions_customer_page) WHERE customer_id = ? AND id > ?',
  account:
    'SELECT COUNT(*) AS movements FROM transactions FORCE INDEX (transactions_account_page) WHERE account_id = ? AND id > ?',
};

/**
 * Counts the movements of an account or a customer. Does not read all of them, because segments have counts.
 * @param accountId null: all accounts of the customer.
 */
export async function countMovements(
  sql: Sql,
  { customerId, accountId }: { customerId: string; accountId: string | null },
): Promise<number> {
  const [segments] = await sql.query<{ movements: string; last_id: string }[]>(IN_SEGMENTS, [
    accountId ?? ALL_ACCOUNTS,
    customerId,
  ]);
  const [beyond] = await sql.query<{ movements: string }[]>(
    accountId === null ? BEYOND.customer : BEYOND.account,
    [accountId ?? customerId, segments?.last_id ?? '0'],
  );
  return Number(segments?.movements ?? 0) + Number(beyond?.movements ?? 0);
}
