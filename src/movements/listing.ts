import type { Sql } from '../database/transaction.ts';
import type { MovementFilter } from './movement-filter.ts';
import { ALL_ACCOUNTS } from './segments.ts';

/** Finds where a page of a listing of movements begins. */

/** The movements to list, and the page of them, in the order of their ids, or of their withdrawals. */
export interface Listing {
  customerId: string;
  /** The accounts to list. 'all': every account of the customer. */
  accountIds: 'all' | readonly string[];
  /** Inclusive, on date_issue. */
  starts: string | null;
  ends: string | null;
  /** Inclusive, on date_readed, or on withdrawn_at; UTC as MySQL writes it. */
  after: string | null;
  dc?: 'Debit' | 'Credit' | undefined;
  import?: ImportInterval | undefined;
  /** Only with a list of accounts. */
  uniqueId?: string | undefined;
  /** The conditions that MySQL does not decide. */
  filter?: MovementFilter | undefined;
  /** Newest first. */
  isReversed?: boolean;
  /** Only withdrawn movements, in the order of their withdrawals. */
  isWithdrawn?: boolean;
  /** The listing begins after this id, in its order. null: from its first movement. Of a withdrawn movement, it is the event_id. */
  cursor: string | null;
  /** The page number, from 1. Counted from the cursor, if there is one. */
  page: number;
  perPage: number;
}

/** Whether movements are looked at one by one. */
export const isSearch = (listing: Pick<Listing, 'filter' | 'import' | 'isWithdrawn'>): boolean =>
  listing.filter !== undefined || listing.import !== undefined || listing.isWithdrawn === true;

/** A page up to this far from a known position is reached by walking the index: about 4 ms with a thousand rows per page. */
export const NEAR_PAGES = 20;

/** The WHERE clause, its values, the index to use and the order. The indexes of pages contain all columns that are filtered by. */
export function conditions(
  listing: Listing,
  { first, last }: IdRange,
): { index: string; where: string; order: string; values: unknown[] } {
  const { accountIds, customerId, starts, ends, dc, uniqueId } = listing;
  const single = accountIds !== 'all' && accountIds.length === 1;
  const clauses = [single ? 't.account_id = ?' : 't.customer_id = ?', 't.id BETWEEN ? AND ?'];
  const values: unknown[] = [single ? accountIds[0] : customerId, first, last];
  const add = (clause: string, value: unknown) => {
    clauses.push(clause);
    values.push(value);
  };
  if (accountIds !== 'all' && !single) add('t.account_id IN (?)', accountIds);
  if (starts !== null) add('t.date_issue >= ?', starts);
  if (ends !== null) add('t.date_issue <= ?', ends);
  if (dc !== undefined) add('t.dc = ?', dc);
  if (uniqueId !== undefined) add('t.unique_id = ?', Buffer.from(uniqueId, 'utf8'));
  return {
    index: indexOf(listing, single ? 'account' : 'customer'),
    where: clauses.join(' AND '),
    order: listing.isReversed === true ? 't.id DESC' : 't.id',
    values,
  };
}

function indexOf({ dc, uniqueId }: Listing, owner: 'account' | 'customer'): string {
  if (uniqueId !== undefined) return 'transactions_unique_id';
  return `transactions_${owner}_${dc === undefined ? 'page' : 'dc'}`;
}

/** A range of ids that contains all movements of a listing. Both ends are inclusive. */
export interface IdRange {
  first: string;
  last: string;
}

/** Largest BIGINT UNSIGNED. */
const LAST_ID = '18446744073709551615';

const ALL_IDS: IdRange = { first: '1', last: LAST_ID };

/**
 * Finds the first id since a moment. A customer's ids and date_readed grow together, so all movements since then follow it. Index:
 * transactions_readed.
 */
export const FIRST_READ_AFTER = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed >= ? ORDER BY date_readed, id LIMIT 1`;

/** Finds the last id until a moment, in the same way. */
const LAST_READ_BEFORE = `
  SELECT id FROM transactions FORCE INDEX (transactions_readed)
  WHERE customer_id = ? AND date_readed <= ? ORDER BY customer_id DESC, date_readed DESC, id DESC LIMIT 1`;

/**
 * Takes the smallest and the largest id of each day of each account, and then the extremes of these. In the index
 * transactions_account_date, this takes one step per day, however many movements a day has.
 */
const FIND_RANGE_OF_DATES = `
  SELECT MIN(first) AS first, MAX(last) AS last FROM (
    SELECT MIN(id) AS first, MAX(id) AS last FROM transactions FORCE INDEX (transactions_account_date)
    WHERE account_id IN (?) AND date_issue >= ? AND date_issue <= ? GROUP BY account_id, date_issue) days`;

/** Index: the customer's accounts. */
const FIND_ACCOUNTS = 'SELECT id, currency FROM accounts WHERE customer_id = ?';

/**
 * Lists accounts of a customer.
 * @param accountIds those to choose from.
 * @param currency only those in this currency (ISO 4217).
 */
export async function findAccountIds(
  sql: Sql,
  { customerId, accountIds }: Pick<Listing, 'customerId' | 'accountIds'>,
  currency?: string,
): Promise<string[]> {
  const found = await sql.query<{ id: string; currency: string }[]>(FIND_ACCOUNTS, [customerId]);
  const wanted = accountIds === 'all' ? null : new Set(accountIds);
  return found
    .filter((it) => (wanted?.has(it.id) ?? true) && (currency === undefined || it.currency === currency))
    .map(({ id }) => id);
}

/** Finds the ids that a listing may have, from its cursor, `after` and its import. Ignores its dates. @returns null: none. */
export async function findIdRange(
  sql: Sql,
  listing: Pick<Listing, 'customerId' | 'accountIds' | 'after' | 'cursor' | 'import' | 'isReversed'>,
): Promise<IdRange | null> {
  const { customerId, accountIds, cursor } = listing;
  if ((accountIds !== 'all' && accountIds.length === 0) || listing.import?.lastReaded === null) return null;
  const whole = cursor === null ? ALL_IDS : beyond(ALL_IDS, cursor, listing);
  const [first, last] = await Promise.all([
    findId(sql, FIRST_READ_AFTER, customerId, later(listing.after, listing.import?.firstReaded ?? null)),
    findId(sql, LAST_READ_BEFORE, customerId, listing.import?.lastReaded ?? null),
  ]);
  if (first === null || last === null) return null;
  return intersect(whole, { first: first ?? whole.first, last: last ?? whole.last });
}

/** Finds the first withdrawal since a moment, in the same way. Index: withdrawn_transactions_time. */
export const FIRST_WITHDRAWN_AFTER = `
  SELECT event_id AS id FROM withdrawn_transactions FORCE INDEX (withdrawn_transactions_time)
  WHERE customer_id = ? AND withdrawn_at >= ? ORDER BY withdrawn_at, event_id LIMIT 1`;

/** Finds the event_ids that a listing of withdrawn movements may have, from its cursor and `after`. @returns null: none. */
export async function findEventRange(sql: Sql, listing: Listing): Promise<IdRange | null> {
  const { customerId, accountIds, after, cursor } = listing;
  if (accountIds !== 'all' && accountIds.length === 0) return null;
  const whole = cursor === null ? ALL_IDS : beyond(ALL_IDS, cursor, listing);
  const first = await findId(sql, FIRST_WITHDRAWN_AFTER, customerId, after);
  return first === null ? null : intersect(whole, { first: first ?? whole.first, last: whole.last });
}

/** @returns undefined without a moment; null when there is no such movement. */
async function findId(sql: Sql, statement: string, customerId: string, moment: string | null) {
  if (moment === null) return undefined;
  const [found] = await sql.query<{ id: string }[]>(statement, [customerId, moment]);
  return found?.id ?? null;
}

const later = (a: string | null, b: string | null): string | null => ((a ?? '') > (b ?? '') ? a : b);

/** An import, and between which date_readed its movements are, inclusive; UTC as MySQL writes it. null: it has stored none. */
export interface ImportInterval {
  id: string;
  firstReaded: string | null;
  lastReaded: string | null;
}

const FIND_IMPORT = `
  SELECT DATE_FORMAT(first_readed, '%Y-%m-%d %H:%i:%s.%f') AS first_readed,
    DATE_FORMAT(last_readed, '%Y-%m-%d %H:%i:%s.%f') AS last_readed
  FROM imports WHERE id = ? AND customer_id = ?`;

/** @returns null when the customer has no such import. */
export async function findImportInterval(
  sql: Sql,
  customerId: string,
  id: string,
): Promise<ImportInterval | null> {
  const [found] = await sql.query<{ first_readed: string | null; last_readed: string | null }[]>(
    FIND_IMPORT,
    [id, customerId],
  );
  if (found === undefined) return null;
  return { id, firstReaded: found.first_readed, lastReaded: found.last_readed };
}

/** The part of a range that follows an id, in the order of the listing. */
export function beyond(
  { first, last }: IdRange,
  id: string,
  { isReversed }: Pick<Listing, 'isReversed'>,
): IdRange {
  return isReversed === true
    ? { first, last: String(BigInt(id) - 1n) }
    : { first: String(BigInt(id) + 1n), last };
}

/** The part of a range up to an id, in the order of the listing. */
export const until = (
  { first, last }: IdRange,
  id: string,
  { isReversed }: Pick<Listing, 'isReversed'>,
): IdRange => (isReversed === true ? { first: id, last } : { first, last: id });

/** The ids that are in both ranges. @returns null: there are none. */
function intersect(a: IdRange, b: IdRange): IdRange | null {
  const first = BigInt(a.first) > BigInt(b.first) ? a.first : b.first;
  const last = BigInt(a.last) < BigInt(b.last) ? a.last : b.last;
  return BigInt(first) > BigInt(last) ? null : { first, last };
}

/** Narrows a range to the ids between `starts` and `ends`. @returns null when nothing can match. */
export async function narrowToDates(sql: Sql, listing: Listing, range: IdRange): Promise<IdRange | null> {
  const accountIds = listing.accountIds === 'all' ? await findAccountIds(sql, listing) : listing.accountIds;
  if (accountIds.length === 0) return null;
  const [dates] = await sql.query<{ first: string | null; last: string | null }[]>(FIND_RANGE_OF_DATES, [
    accountIds,
    listing.starts ?? '1000-01-01',
    listing.ends ?? '9999-12-31',
  ]);
  if (dates?.first == null || dates.last === null) return null;
  return intersect(range, { first: dates.first, last: dates.last });
}

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
