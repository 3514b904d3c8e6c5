import type { Sql } from '../database/transaction.ts';
import type { Listing } from './listing.ts';

/** The ids between which everything lies that a listing can show; both inclusive. */
export interface IdRange {
  first: string;
  last: string;
}

/** BIGINT UNSIGNED's largest. */
const LAST_ID = '18446744073709551615';

/** Ids and date_readed grow together per customer: what was read at or after a moment begins at one id. Index: transactions_readed. */
export const FIRST_READ_AFTER = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed >= ? ORDER BY date_readed, id LIMIT 1`;

/**
 * The least and the greatest id of each day of each account, and of these the extremes: as many steps in the index
 * transactions_account_date as there are days, however many movements a day has.
 */
export const RANGE_OF_DATES = `
  SELECT MIN(first) AS first, MAX(last) AS last FROM (
    SELECT MIN(id) AS first, MAX(id) AS last FROM transactions FORCE INDEX (transactions_account_date)
    WHERE account_id IN (?) AND date_issue >= ? AND date_issue <= ? GROUP BY account_id, date_issue) days`;

const ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';

/** Narrows a listing down before its page is read. @returns null when nothing can match. */
export async function findIdRange(sql: Sql, listing: Listing): Promise<IdRange | null> {
  if (listing.accountIds !== 'all' && listing.accountIds.length === 0) return null;
  const firsts = [listing.cursor === null ? 1n : BigInt(listing.cursor) + 1n];
  let last = LAST_ID;
  if (listing.after !== null) {
    const [read] = await sql.query<{ id: string }[]>(FIRST_READ_AFTER, [listing.customerId, listing.after]);
    if (read === undefined) return null;
    firsts.push(BigInt(read.id));
  }
  if (listing.starts !== null || listing.ends !== null) {
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
    firsts.push(BigInt(dates.first));
    last = dates.last;
  }
  const first = firsts.reduce((a, b) => (a > b ? a : b));
  return first > BigInt(last) ? null : { first: String(first), last };
}
