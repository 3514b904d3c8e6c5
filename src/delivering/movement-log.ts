import type { DataSource } from 'typeorm';
import { createBatcher } from '../batcher.ts';
import type { Sql } from '../database/transaction.ts';
import type { Filter } from './filters.ts';
import { createLogCache, type LogCache } from './log-cache.ts';
import type { NotifiedMovement } from './notification.ts';
import type { FilterRange } from './webhook-state.ts';

/** Movements read at a time. */
const READ = 300;

/** Reads that go together in one statement. */
const READS_TOGETHER = 60;

/** What was read of the log. */
export interface LogRead {
  movements: NotifiedMovement[];
  /** No other match is left at or before this id. */
  through: number;
  /** Nothing beyond it was there at that moment. */
  complete: boolean;
  /** The customer's `filters_version` at that moment. */
  filtersVersion: number;
}

/** What a webhook reads. */
export interface LogRequest {
  webhookId: string;
  customerId: string;
  filters: readonly FilterRange[];
  after: number;
  /** Up to here some movements have results already, which are left out. */
  recordedThrough: number;
}

/** The customers' movements in the order of their ids, as the queue that webhooks read from. */
export interface MovementLog {
  read(request: LogRequest): Promise<LogRead>;
}

/** One read of movements that match one filter. */
interface RangeRead {
  customerId: string;
  filter: Filter;
  after: number;
  /** Inclusive; null: up to the newest. */
  through: number | null;
  /** Leaves out the movements that this webhook has results for. */
  withoutResultsOf: string | null;
}

/** What a notification is made of, by the names of its fields. */
const COLUMNS = {
  transaction_id: 't.id',
  dc: 't.dc',
  code: 't.code',
  amount: 't.amount',
  balance: 't.balance',
  currency: 'a.currency',
  description: 't.description',
  account_id: 't.account_id',
  account: 'a.title',
  bank: 'b.name',
  opponent_id: 't.opponent_id',
  opponent_iban: 't.opponent_iban',
  date_issue: 't.date_issue',
} satisfies Record<keyof NotifiedMovement, string>;

const MOVEMENT = Object.values(COLUMNS).join(', ');

/** The first part of a UNION names the columns of all. */
const NO_MOVEMENT = Object.keys(COLUMNS)
  .map((name) => `NULL AS ${name}`)
  .join(', ');

/**
 * The customers' newest ids come first, in the same statement and so the same snapshot: a movement beyond them is not read, and
 * filters_version is that of everything up to them.
 */
const NEWEST = `
  (SELECT -1 AS slot, l.customer_id AS owner, l.last_transaction_id AS newest, l.filters_version, ${NO_MOVEMENT}
   FROM import_locks l WHERE l.customer_id IN (?))`;

/** Index: transactions_account_page for one account, else transactions_customer_page; both hold dc. */
function rangeSql(slot: number, read: RangeRead): { sql: string; values: unknown[] } {
  const { customerId, filter, after, through, withoutResultsOf } = read;
  const { event, accountId } = filter;
  const index = accountId === null ? 'transactions_customer_page' : 'transactions_account_page';
  const owner = accountId === null ? 't.customer_id = ?' : 't.account_id = ?';
  const dc = event === 'NEW_TRANSACTION' ? '' : `AND t.dc = '${event === 'NEW_DEBIT' ? 'Debit' : 'Credit'}'`;
  const unrecorded =
    'AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id = t.id)';
  return {
    sql: `
  (SELECT ${slot} AS slot, NULL AS owner, NULL AS newest, NULL AS filters_version, ${MOVEMENT}
   FROM transactions t FORCE INDEX (${index}) STRAIGHT_JOIN accounts a ON a.id = t.account_id STRAIGHT_JOIN banks b ON b.id = a.bank_id
   WHERE ${owner} AND t.id > ? ${through === null ? '' : 'AND t.id <= ?'} ${dc}
   ${withoutResultsOf === null ? '' : unrecorded} ORDER BY t.id LIMIT ${READ})`,
    values: [
      accountId ?? customerId,
      after,
      ...(through === null ? [] : [through]),
      ...(withoutResultsOf === null ? [] : [withoutResultsOf]),
    ],
  };
}

type Row = NotifiedMovement & {
  slot: string | number;
  owner: string;
  newest: string;
  filters_version: string | number;
};

/** Reads several ranges in one statement; equal ones are read once. */
export async function readRanges(sql: Sql, all: readonly RangeRead[]): Promise<LogRead[]> {
  const names = all.map(nameOf);
  const reads = all.filter((_, index) => names.indexOf(names[index] ?? '') === index);
  const found = new Map((await readDistinct(sql, reads)).map((read, index) => [nameOf(reads[index]), read]));
  return names.map((name) => found.get(name) as LogRead);
}

const nameOf = (read: RangeRead | undefined): string => JSON.stringify(read);

async function readDistinct(sql: Sql, reads: readonly RangeRead[]): Promise<LogRead[]> {
  const ranges = reads.map((read, slot) => rangeSql(slot, read));
  const customers = [...new Set(reads.map(({ customerId }) => customerId))];
  const rows = await sql.query<Row[]>([NEWEST, ...ranges.map((range) => range.sql)].join(' UNION ALL '), [
    customers,
    ...ranges.flatMap(({ values }) => values),
  ]);
  const newest = new Map<string, { id: number; filtersVersion: number }>();
  const found: NotifiedMovement[][] = reads.map(() => []);
  for (const row of rows) {
    const slot = Number(row.slot);
    if (slot >= 0) found[slot]?.push(row);
    else newest.set(row.owner, { id: Number(row.newest), filtersVersion: Number(row.filters_version) });
  }
  return reads.map(({ customerId, after, through }, slot) => {
    const lock = newest.get(customerId) ?? { id: 0, filtersVersion: 0 };
    const movements = found[slot] ?? [];
    const isFull = movements.length === READ;
    const readThrough = isFull ? Number(movements.at(-1)?.transaction_id) : (through ?? lock.id);
    return {
      movements,
      through: Math.max(after, readThrough),
      complete: !isFull && through === null,
      filtersVersion: lock.filtersVersion,
    };
  });
}

/**
 * Opens the log for the webhooks of one process. Reads of many webhooks share a statement, and webhooks of one customer that match
 * the same share what was read.
 */
export function openMovementLog(database: DataSource, cache: LogCache = createLogCache()): MovementLog {
  const readRange = createBatcher((reads: readonly RangeRead[]) => readRanges(database, reads), {
    workers: 2,
    maxItems: READS_TOGETHER,
  });

  return {
    async read({ webhookId, customerId, filters, after, recordedThrough }) {
      const range = filters.findLast(({ from }) => from <= after) ?? filters[0];
      if (range === undefined) throw new Error(`webhook ${webhookId} has no filter`);
      // After a crash, some of what lies in between has results, and some has not.
      const hasResults = after < recordedThrough;
      const ends = [range.through, hasResults ? recordedThrough : null].filter((end) => end !== null);
      const through = ends.length === 0 ? null : Math.min(...ends);
      const { filter } = range;
      if (filter === null) {
        return { movements: [], through: through ?? after, complete: through === null, filtersVersion: 0 };
      }
      const read = { customerId, filter, after, through };
      if (hasResults) return readRange({ ...read, withoutResultsOf: webhookId });
      return cache.read(read, () => readRange({ ...read, withoutResultsOf: null }));
    },
  };
}
