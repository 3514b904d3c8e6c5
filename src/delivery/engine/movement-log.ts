import type { Sql } from '../../database/transaction.ts';
import { createBatcher } from '../../platform/batcher.ts';
import { dcOf, type Filter, indexOf, ownerIdOf, ownerOf } from '../filters.ts';
import type { LoggedMovement } from '../run/types.ts';
import type { LogFilter } from '../webhook-state.ts';
import { createLogCache, type LogCache, type LogRange, type LogRead } from './log-cache.ts';
import { extend, MOVEMENT_COLUMNS, NO_MOVEMENT_COLUMNS } from './logged-movement.ts';

/** Reads the movement log: a customer's movements in the order of their ids. Webhooks read it as their queue. */

/** The most movements per read. */
export const READ_SIZE = 300;

/** The most reads that share a statement. */
const READS_PER_STATEMENT = 100;

/** The movement log as a run reads it. */
export interface MovementLog {
  read(request: LogRequest): Promise<LogRead>;
}

/** A webhook's request for the movements after `after` that match its filters. */
export interface LogRequest {
  webhookId: string;
  customerId: string;
  filters: readonly LogFilter[];
  after: number;
  /** Up to this id, some movements may have results already. These movements are left out. */
  highestRecordedId: number;
  /** The most movements to read. */
  limit: number;
  /** Whether the bodies are extended. */
  isExtended: boolean;
}

/** The range that a webhook reads next. Its filter is null if nothing matches there. */
export function nextRange(request: LogRequest): Omit<LogRange, 'filter'> & { filter: Filter | null } {
  const { webhookId, customerId, filters, after, highestRecordedId, limit } = request;
  const filtered = filters.findLast(({ from }) => from <= after) ?? filters[0];
  if (filtered === undefined) throw new Error(`webhook ${webhookId} has no filter`);
  // After a crash, or a shutdown that cut POSTs short, only some of the movements up to highestRecordedId have results.
  const hasResults = after < highestRecordedId;
  const ends = [filtered.through, hasResults ? highestRecordedId : null].filter((end) => end !== null);
  return {
    customerId,
    filter: filtered.filter,
    after,
    through: ends.length === 0 ? null : Math.min(...ends),
    withoutResultsOf: hasResults ? webhookId : null,
    limit,
  };
}

/** The read of a range in which nothing matches. */
export const nothingMatches = (after: number, through: number | null): LogRead => ({
  movements: [],
  through: through ?? after,
  complete: through === null,
  filtersVersion: 0,
});

/** Opens the log for the webhooks of one process. Webhooks of one customer with the same filter share their reads. */
export function openMovementLog(database: Sql, cache: LogCache = createLogCache()): MovementLog {
  /** Reads that have not begun yet, by range. Webhooks with the same filter that are woken together share a read. */
  const waiting = new Map<string, Promise<LogRead>>();
  const readInGroup = createBatcher(
    (ranges: readonly LogRange[]) => {
      for (const range of ranges) waiting.delete(JSON.stringify(range));
      return readRanges(database, ranges);
    },
    { workers: 2, maxItems: READS_PER_STATEMENT },
  );
  const readRange = (range: LogRange): Promise<LogRead> => {
    const key = JSON.stringify(range);
    const shared = waiting.get(key) ?? readInGroup(range);
    waiting.set(key, shared);
    return shared;
  };

  return {
    async read(request) {
      const { filter, ...range } = nextRange(request);
      if (filter === null) return nothingMatches(range.after, range.through);
      const wanted = { ...range, filter };
      const read = await cache.read(wanted, () => readRange(wanted));
      return request.isExtended ? { ...read, movements: await extend(database, read.movements) } : read;
    },
  };
}

/**
 * Reads the customers' newest ids in the same statement as the movements, and so in the same snapshot. Therefore no movement beyond
 * these ids is read, and filters_version is valid for all movements up to them. Index: the primary key.
 */
const NEWEST = `
  (SELECT -1 AS branch, l.customer_id, l.last_transaction_id AS newest, l.filters_version, ${NO_MOVEMENT_COLUMNS}
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
  const branches = ranges.map(toBranch);
  const customerIds = new Set(ranges.map(({ customerId }) => customerId));
  const rows = await sql.query<Row[]>([NEWEST, ...branches.map((it) => it.sql)].join(' UNION ALL '), [
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
