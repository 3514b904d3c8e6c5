import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';

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

/** Movements per segment. Walking past a segment takes 1.5 ms, and ten million movements make only a thousand segments. */
export const SEGMENT_SIZE = 10_000;

/** account_id of the rows that count the movements of all accounts. */
export const ALL_ACCOUNTS = '0';

/** Compares only counts. They show which customers to check. Listings do not depend on them. */
const WAITING = `
  SELECT l.customer_id FROM import_locks l LEFT JOIN segment_checkpoints b ON b.customer_id = l.customer_id
  WHERE l.movements >= COALESCE(b.movements, 0) + ?`;

/** Inserts the checkpoint if there is none yet, and locks it in any case. No other segment is made until the transaction ends. */
const LOCK =
  'INSERT INTO segment_checkpoints (customer_id) VALUES (?) ON DUPLICATE KEY UPDATE customer_id = customer_id';

const CHECKPOINT = 'SELECT last_id FROM segment_checkpoints WHERE customer_id = ?';

/** Ends at the newest movement in import_locks. Movements beyond it may be uncommitted, and others may still get smaller ids. */
const LAST_OF_SEGMENT = `
  SELECT id FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? AND id <= (SELECT last_transaction_id FROM import_locks WHERE customer_id = ?)
  ORDER BY id LIMIT 1 OFFSET ?`;

const COUNT = `
  SELECT account_id, COUNT(*) AS movements, MIN(date_issue) AS first_date_issue, MAX(date_issue) AS last_date_issue
  FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? AND id <= ? GROUP BY account_id`;

const STORE = `
  INSERT INTO transaction_segments (customer_id, account_id, last_id, movements, first_date_issue, last_date_issue)
  VALUES ?`;

const MOVE_CHECKPOINT =
  'UPDATE segment_checkpoints SET last_id = ?, movements = movements + ? WHERE customer_id = ?';

/**
 * Makes whole segments of the movements stored since the last segment. Several processes may do this at the same time. They wait
 * for each other, but no import waits for them.
 * @param size movements per segment.
 * @param most most segments to make, for all customers together. The next call makes the rest.
 * @param signal stops the work after the current segment.
 * @returns the number of segments made.
 */
export async function makeSegments(
  database: DataSource,
  {
    size = SEGMENT_SIZE,
    most = Number.POSITIVE_INFINITY,
    signal,
  }: { size?: number; most?: number; signal?: AbortSignal } = {},
): Promise<number> {
  let made = 0;
  for (const { customer_id: customerId } of await findWaiting(database, size)) {
    while (
      made < most &&
      !signal?.aborted &&
      (await inTransaction(database, (sql) => makeSegment(sql, customerId, size)))
    )
      made += 1;
  }
  return made;
}

/** Finds the customers with enough movements for another segment. */
export const findWaiting = (sql: Sql, size = SEGMENT_SIZE): Promise<{ customer_id: string }[]> =>
  sql.query(WAITING, [size]);

/**
 * Makes a customer's next segment.
 * @param sql a transaction.
 * @returns false when there are not enough movements.
 */
export async function makeSegment(sql: Sql, customerId: string, size: number): Promise<boolean> {
  await sql.query(LOCK, [customerId]);
  const [checkpoint] = await sql.query<{ last_id: string }[]>(CHECKPOINT, [customerId]);
  const after = checkpoint?.last_id ?? '0';
  const [last] = await sql.query<{ id: string }[]>(LAST_OF_SEGMENT, [
    customerId,
    after,
    customerId,
    size - 1,
  ]);
  if (last === undefined) return false;
  const accounts = await sql.query<AccountCount[]>(COUNT, [customerId, after, last.id]);
  const rows = [...accounts, countAll(accounts)].map((it) => [
    customerId,
    it.account_id,
    last.id,
    it.movements,
    it.first_date_issue,
    it.last_date_issue,
  ]);
  await sql.query(STORE, [rows]);
  await sql.query(MOVE_CHECKPOINT, [last.id, size, customerId]);
  return true;
}

interface AccountCount {
  account_id: string;
  movements: string;
  first_date_issue: string;
  last_date_issue: string;
}

function countAll(accounts: readonly AccountCount[]): AccountCount {
  const days = accounts.flatMap((it) => [it.first_date_issue, it.last_date_issue]).sort();
  return {
    account_id: ALL_ACCOUNTS,
    movements: String(accounts.reduce((sum, { movements }) => sum + Number(movements), 0)),
    first_date_issue: days[0] as string,
    last_date_issue: days.at(-1) as string,
  };
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
const SEGMENTS = `
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

async function count(sql: Sql, listing: Listing, range: IdRange): Promise<number> {
  const { index, where, values } = conditions(listing, range);
  const [row] = await sql.query<{ movements: string }[]>(
    `SELECT COUNT(*) AS movements FROM transactions t FORCE INDEX (${index}) WHERE ${where}`,
    values,
  );
  return Number(row?.movements);
}

/** Keeps the counts of segments right when movements are removed. */

/** Index: the primary key. */
const SEGMENT_OF = `
  SELECT last_id FROM transaction_segments WHERE customer_id = ? AND account_id = ${ALL_ACCOUNTS} AND last_id >= ?
  ORDER BY customer_id, account_id, last_id LIMIT 1`;

const SUBTRACT = `
  UPDATE transaction_segments SET movements = movements - ? WHERE customer_id = ? AND account_id = ? AND last_id = ?`;

const DELETE_EMPTY = `
  DELETE FROM transaction_segments WHERE customer_id = ? AND account_id IN (?) AND last_id = ? AND movements = 0`;

/** Counts removed movements that are in no segment, and now never will be. */
const SKIP = 'UPDATE segment_checkpoints SET movements = movements + ? WHERE customer_id = ?';

/**
 * Locks the segments of a customer, and finds the one that holds a movement.
 * @param sql a transaction.
 * @returns the id of the segment's last movement; null: the movement is in no segment yet.
 */
export async function lockSegment(
  sql: Sql,
  customerId: string,
  transactionId: string,
): Promise<string | null> {
  await sql.query(LOCK, [customerId]);
  const [segment] = await sql.query<{ last_id: string }[]>(SEGMENT_OF, [customerId, transactionId]);
  return segment?.last_id ?? null;
}

/**
 * Subtracts movements from the counts of their segment, in the transaction that deletes them.
 * @param segment as `lockSegment` found it for the first of them. All movements must be in this segment or, for null, in none.
 */
export async function subtractFromSegment(
  sql: Sql,
  { customerId, segment }: { customerId: string; segment: string | null },
  movements: readonly { account_id: string }[],
): Promise<void> {
  if (segment === null) {
    await sql.query(SKIP, [movements.length, customerId]);
    return;
  }
  const counts = new Map([[ALL_ACCOUNTS, movements.length]]);
  for (const { account_id } of movements) counts.set(account_id, (counts.get(account_id) ?? 0) + 1);
  for (const [accountId, count] of counts) {
    await sql.query(SUBTRACT, [count, customerId, accountId, segment]);
  }
  await sql.query(DELETE_EMPTY, [customerId, [...counts.keys()], segment]);
}

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
