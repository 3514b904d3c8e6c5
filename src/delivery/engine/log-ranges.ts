import type { Sql } from '../../database/transaction.ts';
import {
  dcOf,
  type Filter,
  indexOf,
  matchesNewMovements,
  ownerIdOf,
  ownerOf,
} from '../../webhook-record/filter.ts';
import type { LoggedMovement } from '../run/types.ts';
import { MOVEMENT_COLUMNS, NO_MOVEMENT_COLUMNS } from './logged-movement.ts';

/** Reads ranges of the movement log, many in one statement. */

/**
 * Reads the customers' newest ids in the same statement as the movements, and so in the same snapshot. Therefore no movement beyond
 * these ids is read, and filters_version is valid for all movements up to them. Index: the primary key.
 */
const READ_LOG = `
  /* READ_LOG */ (SELECT -1 AS branch, l.customer_id, l.last_transaction_id AS newest, l.filters_version, ${NO_MOVEMENT_COLUMNS}
   FROM import_locks l WHERE l.customer_id IN (?))`;

/** Index: the primary key of deliveries. */
const WITHOUT_RESULT =
  'NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id = t.id)';

/**
 * The SELECT of one range. It forces the primary keys of the other tables. Otherwise, with few accounts, MariaDB would join all movements
 * with all accounts and sort the result.
 */
function toBranch(range: LogRange, branch: number): { sql: string; values: unknown[] } {
  const { after, through, filter, withoutResultsOf, limit } = range;
  const index = indexOf(range, 't');
  const conditions = [`t.${ownerOf(range)} = ?`, 't.id > ?'];
  const values: unknown[] = [ownerIdOf(range), after];
  const add = (condition: string, value: unknown) => {
    if (value === null) return;
    conditions.push(condition);
    values.push(value);
  };
  add('t.id <= ?', through);
  add('t.dc = ?', dcOf(filter));
  add(WITHOUT_RESULT, withoutResultsOf);
  const sql = `
  (SELECT ${branch}, NULL, NULL, NULL, ${MOVEMENT_COLUMNS}
   FROM transactions t FORCE INDEX (${index.name})
   STRAIGHT_JOIN accounts a FORCE INDEX (PRIMARY) ON a.id = t.account_id
   STRAIGHT_JOIN banks b FORCE INDEX (PRIMARY) ON b.id = a.bank_id
   WHERE ${conditions.join(' AND ')} ORDER BY ${index.columns} LIMIT ${limit})`;
  return { sql, values };
}

/** A movement of the range number `branch`, or, if `branch` is -1, a customer's newest id. */
type Row = LoggedMovement & {
  branch: string | number;
  customer_id: string | null;
  newest: string | null;
  filters_version: string | number;
};

/** Reads several ranges in one statement. */
export async function readRanges(sql: Sql, ranges: readonly LogRange[]): Promise<LogRead[]> {
  // A filter for withdrawals alone has no branch. Its range ends at the newest id.
  const branches = ranges.flatMap((range, branch) =>
    matchesNewMovements(range.filter) ? [toBranch(range, branch)] : [],
  );
  const customerIds = new Set(ranges.map(({ customerId }) => customerId));
  const rows = await sql.query<Row[]>([READ_LOG, ...branches.map((it) => it.sql)].join(' UNION ALL '), [
    [...customerIds],
    ...branches.flatMap(({ values }) => values),
  ]);
  const newest = new Map<string | null, Row>();
  const movements: Row[][] = ranges.map(() => []);
  for (const row of rows) {
    if (Number(row.branch) === -1) newest.set(row.customer_id, row);
    else movements[Number(row.branch)]?.push(row);
  }
  return ranges.map((range, branch) =>
    toLogRead(range, newest.get(range.customerId), movements[branch] ?? []),
  );
}

function toLogRead({ after, through, limit }: LogRange, newest: Row | undefined, movements: Row[]): LogRead {
  const filtersVersion = Number(newest?.filters_version ?? 0);
  const last = movements.length < limit ? undefined : movements.at(-1);
  if (last !== undefined)
    return { movements, through: Number(last.transaction_id), complete: false, filtersVersion };
  const end = Math.max(after, through ?? Number(newest?.newest ?? 0));
  return { movements, through: end, complete: through === null, filtersVersion };
}

/** A range of the log that is read with one filter. */
export interface LogRange {
  customerId: string;
  filter: Filter;
  after: number;
  /** Inclusive; null: up to the newest. */
  through: number | null;
  /** Leaves out the movements for which this webhook has results. null: leaves out none. */
  withoutResultsOf: string | null;
  /** The most movements to read. */
  limit: number;
}

/** The result of one read of the log. */
export interface LogRead {
  movements: LoggedMovement[];
  /** No other match is left at or before this id. */
  through: number;
  /** At the moment of the read, there were no movements beyond `through`. */
  complete: boolean;
  /** The customer's `filters_version` at the moment of the read. */
  filtersVersion: number;
}
