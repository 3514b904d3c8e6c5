import type { Sql } from '../../database/transaction.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { findEventRange, type IdRange, type Listing } from '../listing.ts';
import { columnsOf, matches } from '../movement-filter.ts';
import { COLUMNS, type FoundPage, NOTHING, type Row } from './rows.ts';
import { type LookedAt, search } from './search.ts';

/** Reads the withdrawn movements of a page of a listing, in the order of their withdrawals. */

/** The columns that filters look at, beside those of `MovementFilter`. */
const DECIDING = `t.event_id AS id, t.account_id, t.import_id, CONVERT(t.unique_id USING utf8mb4) AS unique_id, t.dc, t.date_issue`;

interface Withdrawn extends LookedAt {
  account_id: string;
  import_id: string;
  unique_id: string;
  dc: string;
  date_issue: string;
}

/**
 * Reads a page. All filters are decided here, so that a page ends after the most movements that a search looks at: an import of millions
 * may be withdrawn.
 */
export async function readWithdrawnPage(sql: Sql, listing: Listing, zone: ZoneOffset): Promise<FoundPage> {
  const { filter } = listing;
  const range = await findEventRange(sql, listing);
  if (range === null) return NOTHING;
  const texts = filter === undefined ? [] : columnsOf(filter);
  return search<Withdrawn>(
    listing,
    { range, offset: 0 },
    {
      texts,
      look: (rest, most) => look(sql, listing, { rest, most, columns: texts }),
      isListed: createDecision(listing),
      read: (ids) => readWithdrawn(sql, listing, { column: 'event_id', ids }, zone),
      momentOf: ({ withdrawn_at }) => withdrawn_at,
    },
  );
}

/** Indexes: withdrawn_transactions_account and withdrawn_transactions_customer. */
function look(
  sql: Sql,
  { customerId, accountIds, isReversed }: Listing,
  { rest, most, columns }: { rest: IdRange; most: number; columns: readonly string[] },
): Promise<Withdrawn[]> {
  const [owner, id] =
    accountIds !== 'all' && accountIds.length === 1 ? ['account', accountIds[0]] : ['customer', customerId];
  return sql.query(
    `SELECT ${[DECIDING, ...columns.map((column) => `t.${column}`)].join(', ')}
    FROM withdrawn_transactions t FORCE INDEX (withdrawn_transactions_${owner})
    WHERE t.${owner}_id = ? AND t.event_id BETWEEN ? AND ? ORDER BY t.event_id${isReversed === true ? ' DESC' : ''} LIMIT ?`,
    [id, rest.first, rest.last, most],
  );
}

/** Creates the function that decides whether a movement is listed. */
function createDecision({
  accountIds,
  starts,
  ends,
  dc,
  uniqueId,
  filter,
  ...listing
}: Listing): (it: Withdrawn) => boolean {
  const accounts = accountIds === 'all' ? undefined : new Set(accountIds);
  return (it) =>
    (accounts === undefined || accounts.has(it.account_id)) &&
    (starts === null || it.date_issue >= starts) &&
    (ends === null || it.date_issue <= ends) &&
    (dc === undefined || it.dc === dc) &&
    (uniqueId === undefined || it.unique_id === uniqueId) &&
    (listing.import === undefined || it.import_id === listing.import.id) &&
    (filter === undefined || matches(filter, it));
}

/** The index for each column by which withdrawn movements are read. */
const INDEXES = { event_id: 'PRIMARY', id: 'withdrawn_transactions_id' } as const;

/**
 * Reads withdrawn movements of a customer, by their ids or by the ids of their withdrawal events. The reason is ""
 * once retention has removed the withdrawal before the movement.
 * @returns them by this column.
 */
export async function readWithdrawn(
  sql: Sql,
  { customerId }: Pick<Listing, 'customerId'>,
  { column, ids }: { column: keyof typeof INDEXES; ids: readonly string[] },
  zone: ZoneOffset,
): Promise<Map<string, Row>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<(Row & { event_id: string })[]>(
    `SELECT ${COLUMNS}, t.event_id,
      CONCAT(DATE_FORMAT(t.withdrawn_at + INTERVAL ? MINUTE, '%Y-%m-%d %H:%i:%s'), ?) AS withdrawn_at,
      COALESCE(o.reason, '') AS withdrawn_reason
    FROM withdrawn_transactions t FORCE INDEX (${INDEXES[column]}) LEFT JOIN withdrawals o ON o.id = t.withdrawal_id
    WHERE t.${column} IN (?) AND t.customer_id = ?`,
    [zone.minutes, zone.text, zone.minutes, zone.text, ids, customerId],
  );
  return new Map(rows.map((row) => [row[column], row]));
}
