import { LRUCache } from 'lru-cache';
import type { Sql } from '../../database/transaction.ts';
import { createBatcher } from '../../platform/batcher.ts';
import { dcOf, type Filter, indexOf, ownerIdOf, ownerOf } from '../../webhook-record/filter.ts';
import type { Delivery, LoggedEvent, LoggedMovement } from '../run/types.ts';
import { type LogFilter, retryDueAt } from '../webhook-state.ts';
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
  /** As `WebhookState` has it. */
  accountsDeleted: number;
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
      const { accountsDeleted } = request;
      const read = await cache.read({ ...wanted, accountsDeleted }, () => readRange(wanted));
      return request.isExtended ? extendRead(database, read) : read;
    },
  };
}

/** Adds what the bank says. Leaves the last movements to the next read if the first ones say much. */
async function extendRead(sql: Sql, read: LogRead): Promise<LogRead> {
  const movements = await extend(sql, read.movements);
  const last = movements.at(-1);
  if (last === undefined || movements.length === read.movements.length) return { ...read, movements };
  return { ...read, movements, through: Number(last.transaction_id), complete: false };
}

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
  const branches = ranges.map(toBranch);
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

/** Caches reads of the movement log. Webhooks with the same filter mostly read at about the same place, so they share the cache. */

/** The most movements cached for all customers together: a few tens of megabytes. */
const MAX_MOVEMENTS = 10_000;

/** The most movements cached for one filter. Webhooks that lag further behind read from MySQL. */
const MAX_MOVEMENTS_PER_FILTER = 1_000;

type CachedRead = Omit<LogRange, 'withoutResultsOf'> & Pick<LogRequest, 'accountsDeleted'>;

/** The newest movements that webhooks have read with one filter, without a gap. */
interface CachedRange extends Omit<LogRead, 'complete'> {
  from: number;
}

/**
 * Caches movements with the bodies made of them. Movements never change. When an account has been deleted, its customer's part of the cache
 * is not read any more.
 */
export interface LogCache {
  /** Reads a range from the cache, or with `query`. */
  read(range: CachedRead, query: () => Promise<LogRead>): Promise<LogRead>;
}

export function createLogCache(): LogCache {
  const ranges = new LRUCache<string, CachedRange>({
    maxSize: MAX_MOVEMENTS,
    // An empty range counts too, because there may be one for each customer and filter.
    sizeCalculation: ({ movements }) => 1 + movements.length,
  });
  return {
    async read({ customerId, accountsDeleted, filter, after, through, limit }, query) {
      if (through !== null) return query();
      const key = `${customerId} ${accountsDeleted} ${filter.accountId} ${filter.event}`;
      const range = ranges.get(key);
      if (range !== undefined && range.from <= after && after < range.through)
        return slice(range, after, limit);
      const read = await query();
      const before = ranges.get(key);
      // Another webhook may have read further in the meantime.
      if (before === undefined || before.through < read.through)
        ranges.set(key, prolong(before, after, read));
      return read;
    },
  };
}

function slice({ movements, through, filtersVersion }: CachedRange, after: number, limit: number): LogRead {
  const start = movements.findIndex(({ transaction_id }) => Number(transaction_id) > after);
  const batch = start === -1 ? [] : movements.slice(start, start + limit);
  const isWhole = start === -1 || start + limit >= movements.length;
  return {
    movements: batch,
    through: isWhole ? through : Number(batch.at(-1)?.transaction_id),
    complete: false,
    filtersVersion,
  };
}

function prolong(before: CachedRange | undefined, after: number, read: LogRead): CachedRange {
  const { through, filtersVersion } = read;
  if (before?.through !== after) return { from: after, movements: read.movements, through, filtersVersion };
  const movements = before.movements.concat(read.movements);
  const dropped = Math.max(0, movements.length - MAX_MOVEMENTS_PER_FILTER);
  const from = dropped === 0 ? before.from : Number(movements[dropped - 1]?.transaction_id);
  return { from, movements: movements.slice(dropped), through, filtersVersion };
}

/** Reads the retries of a webhook that are due, with their movements or operational events. */

/**
 * Movements or events are joined after the limit has been applied, because in a direct join the optimiser may read and sort all retries
 * of the webhook. Index: retries_due.
 */
const DUE = (order: 'due_at' | 'transaction_id') => `
  SELECT transaction_id, attempts, failures, TIMESTAMPDIFF(MICROSECOND, NOW(6), ${retryDueAt('d')}) / 1000 AS due_in
  FROM retries d FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NOT NULL ORDER BY ${order} LIMIT ?`;

const READ_RETRIES_OF_MOVEMENTS = (due: string) => `
  /* READ_RETRIES_OF_MOVEMENTS */ SELECT STRAIGHT_JOIN r.transaction_id AS id, r.attempts, r.failures, r.due_in, ${MOVEMENT_COLUMNS}
  FROM (${due}) r
  LEFT JOIN transactions t ON t.id = r.transaction_id
  LEFT JOIN accounts a ON a.id = t.account_id
  LEFT JOIN banks b ON b.id = a.bank_id`;

const READ_RETRIES_OF_EVENTS = (due: string) => `
  /* READ_RETRIES_OF_EVENTS */ SELECT STRAIGHT_JOIN r.transaction_id AS id, r.attempts, r.failures, r.due_in, e.type, e.account_id, e.data,
    DATE_FORMAT(e.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS timestamp,
    TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.created_at) AS stored_at
  FROM (${due}) r
  LEFT JOIN operational_events e ON e.id = r.transaction_id`;

interface Due {
  id: string;
  attempts: number;
  failures: number;
  due_in: string;
}

type DueMovement = Due & LoggedMovement;
type DueRow = DueMovement | (Due & LoggedEvent);

/** Retries of one webhook that are due. */
export interface RetriesRead {
  deliveries: Delivery[];
  /** Milliseconds until the next retry that is not in `deliveries`. 0: more are due. null: there is none. */
  nextIn: number | null;
}

/**
 * Reads the retries of a webhook that are due, the longest due first. For an ordered webhook, reads those with the lowest transaction ids,
 * in their order, up to the first that is not due yet.
 * @param options.ofEvents the webhook is sent events in place of movements.
 * @param options.isExtended the bodies are extended.
 */
export async function readRetries(
  sql: Sql,
  webhookId: string,
  {
    ordered,
    limit,
    ofEvents = false,
    isExtended = false,
  }: { ordered: boolean; limit: number; ofEvents?: boolean; isExtended?: boolean },
): Promise<RetriesRead> {
  const due = DUE(ordered ? 'transaction_id' : 'due_at');
  const rows = await sql.query<DueRow[]>(
    (ofEvents ? READ_RETRIES_OF_EVENTS : READ_RETRIES_OF_MOVEMENTS)(due),
    [webhookId, limit],
  );
  rows.sort((one, other) =>
    ordered ? Number(one.id) - Number(other.id) : Number(one.due_in) - Number(other.due_in),
  );
  const firstLater = rows.findIndex(({ due_in }) => Number(due_in) > 0);
  const later = rows[firstLater];
  const dueNow = later === undefined ? rows : rows.slice(0, firstLater);
  const nextIn = later === undefined ? (dueNow.length === limit ? 0 : null) : Number(later.due_in);
  const found = isExtended && !ofEvents ? await extend(sql, dueNow as DueMovement[]) : dueNow;
  return { deliveries: found.map(toDelivery), nextIn: found.length < dueNow.length ? 0 : nextIn };
}

const toDelivery = ({ id, attempts, failures, due_in: _, ...content }: DueRow): Delivery => ({
  subjectId: Number(id),
  source: 'retries',
  attempts,
  failures,
  content: content.stored_at === null ? null : content,
});

/** Turns a movement of the log into a delivery that was never attempted. */
export const toNewDelivery = (movement: LoggedMovement): Delivery => ({
  subjectId: Number(movement.transaction_id),
  source: 'log',
  attempts: 0,
  failures: 0,
  content: movement,
});

/** Treats movements of accounts that are being deleted as deleted already. Their deliveries are not sent and fail for good. */
export function withoutDeleted(
  deliveries: readonly Delivery[],
  deletedAccounts: readonly string[],
): Delivery[] {
  const deleted = new Set(deletedAccounts);
  return deliveries.map((delivery) =>
    deleted.has(delivery.content?.account_id ?? '') ? { ...delivery, content: null } : delivery,
  );
}
