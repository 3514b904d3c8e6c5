import type { Sql } from '../database/transaction.ts';
import type { IdRange } from './id-range.ts';
import { conditions, type Listing } from './listing.ts';
import { ALL_ACCOUNTS } from './segment-maker.ts';

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

/** Inserts the checkpoint if there is none yet, and locks it in any case. No segment is made until the transaction ends. */
const LOCK =
  'INSERT INTO segment_checkpoints (customer_id) VALUES (?) ON DUPLICATE KEY UPDATE customer_id = customer_id';

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
