import { createBatcher } from '../platform/batcher.ts';
import type { Sql } from '../platform/database/transaction.ts';
import type { Filter } from './filters.ts';
import { createLogCache, type LogCache } from './log-cache.ts';
import type { LoggedMovement } from './run/types.ts';
import type { LogFilter } from './webhook-state.ts';

/** Reads the movement log: a customer's movements in the order of their ids. Webhooks read it as their queue. */

/** The most movements that one SELECT returns, for all reads that share it. */
const READ_SIZE = 300;

/** The most reads that share a statement. */
const READS_PER_STATEMENT = 100;

/** The result of one read of the log. */
export interface LogRead {
  movements: LoggedMovement[];
  /** No other match is left at or before this id. */
  through: number;
  /** Nothing lay beyond `through` at the moment of the read. */
  complete: boolean;
  /** The customer's `filters_version` at the moment of the read. */
  filtersVersion: number;
}

/** What a webhook asks of the log: the movements after `after` that match its filters. */
export interface LogRequest {
  webhookId: string;
  customerId: string;
  filters: readonly LogFilter[];
  after: number;
  /** Up to this id, some movements already have results. Those are left out. */
  highestRecordedId: number;
}

/** The log for the webhooks of one process. */
export interface MovementLog {
  read(request: LogRequest): Promise<LogRead>;
}

/** A read of the movements that match one filter. */
export interface RangeQuery {
  customerId: string;
  filter: Filter;
  after: number;
  /** Inclusive; null: up to the newest. */
  through: number | null;
  /** Leaves out the movements that this webhook has results for; null: leaves out none. */
  withoutResultsOf: string | null;
}

/** Where the fields of a movement come from. */
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
  stored_at: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t.date_readed)",
} satisfies Record<keyof LoggedMovement, string>;

const MOVEMENT = Object.values(COLUMNS).join(', ');

/** The first SELECT of a UNION names the columns of all of them. */
const NO_MOVEMENT = Object.keys(COLUMNS)
  .map((name) => `NULL AS ${name}`)
  .join(', ');

/**
 * The customers' newest ids are read in the same statement, and so in the same snapshot: no movement beyond them is read, and
 * filters_version is the one that applies to everything up to them.
 */
const NEWEST = `
  (SELECT -1 AS branch, l.customer_id AS owner, l.last_transaction_id AS newest, l.filters_version, ${NO_MOVEMENT}
   FROM import_locks l WHERE l.customer_id IN (?))`;

const INDEXES = {
  customer_id: 'transactions_customer_page',
  account_id: 'transactions_account_page',
} as const;

type Owner = keyof typeof INDEXES;

const ownerOf = ({ filter }: RangeQuery): Owner => (filter.accountId === null ? 'customer_id' : 'account_id');
const ownerIdOf = ({ filter, customerId }: RangeQuery): string => filter.accountId ?? customerId;
const dcOf = ({ event }: Filter): string | null =>
  event === 'NEW_TRANSACTION' ? null : event === 'NEW_DEBIT' ? 'Debit' : 'Credit';

const isPlain = ({ through, withoutResultsOf }: RangeQuery): boolean =>
  through === null && withoutResultsOf === null;

/** Index: the primary key of deliveries. */
const UNRECORDED =
  'NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id = t.id)';

/** The condition of one read. */
function rangeSql(read: RangeQuery): { sql: string; values: unknown[] } {
  const { after, through, filter, withoutResultsOf } = read;
  const dc = dcOf(filter);
  const conditions: { sql: string; values: unknown[] }[] = [
    { sql: `t.${ownerOf(read)} = ? AND t.id > ?`, values: [ownerIdOf(read), after] },
    ...(through === null ? [] : [{ sql: 't.id <= ?', values: [through] }]),
    ...(dc === null ? [] : [{ sql: 't.dc = ?', values: [dc] }]),
    ...(withoutResultsOf === null ? [] : [{ sql: UNRECORDED, values: [withoutResultsOf] }]),
  ];
  return {
    sql: `(${conditions.map(({ sql }) => sql).join(' AND ')})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/**
 * Reads that are ranges of one index share one SELECT: parsing and planning one SELECT for each would cost more than reading a few
 * movements. The primary keys of the other tables are forced: with few accounts, MariaDB would join all movements with all of them,
 * and sort the result.
 */
function branchSql(branch: number, reads: readonly RangeQuery[]): { sql: string; values: unknown[] } {
  const [first] = reads;
  if (first === undefined) throw new Error('a branch of a statement needs at least one read');
  const owner = ownerOf(first);
  const ranges = reads.map(rangeSql);
  return {
    sql: `
  (SELECT ${branch}, t.${owner}, NULL, NULL, ${MOVEMENT}
   FROM transactions t FORCE INDEX (${INDEXES[owner]})
   STRAIGHT_JOIN accounts a FORCE INDEX (PRIMARY) ON a.id = t.account_id
   STRAIGHT_JOIN banks b FORCE INDEX (PRIMARY) ON b.id = a.bank_id
   WHERE ${ranges.map(({ sql }) => sql).join(' OR ')} ORDER BY t.${owner}, t.id LIMIT ${READ_SIZE})`,
    values: ranges.flatMap(({ values }) => values),
  };
}

type Row = LoggedMovement & {
  branch: string | number;
  owner: string;
  newest: string | null;
  filters_version: string | number;
};

/** Reads several ranges in one statement. */
export async function readRanges(sql: Sql, all: readonly RangeQuery[]): Promise<LogRead[]> {
  const plain = all.filter(isPlain);
  const found = await readBranches(sql, [
    plain.filter((read) => ownerOf(read) === 'customer_id'),
    plain.filter((read) => ownerOf(read) === 'account_id'),
    ...all.filter((read) => !isPlain(read)).map((read) => [read]),
  ]);
  // One large backlog can fill a SELECT. Reads that got nothing because of it are repeated alone, so that they need not wait.
  const crowdedOut = plain.filter((read) => {
    const { movements, complete, through } = found.get(keyOf(read)) as LogRead;
    return movements.length === 0 && !complete && through === read.after;
  });
  if (crowdedOut.length > 0) {
    const alone = crowdedOut.map((read) => [read]);
    for (const [key, read] of await readBranches(sql, alone)) found.set(key, read);
  }
  return all.map((read) => found.get(keyOf(read)) as LogRead);
}

const keyOf = (read: RangeQuery): string => JSON.stringify(read);

/** Runs one statement. @param all groups of reads, each sharing a SELECT and its limit. @returns what was read, by `keyOf`. */
async function readBranches(
  sql: Sql,
  all: readonly (readonly RangeQuery[])[],
): Promise<Map<string, LogRead>> {
  const branches = all.filter((reads) => reads.length > 0);
  const selects = branches.map((reads, branch) => branchSql(branch, reads));
  const rows = await sql.query<Row[]>([NEWEST, ...selects.map((select) => select.sql)].join(' UNION ALL '), [
    [...new Set(branches.flat().map(({ customerId }) => customerId))],
    ...selects.flatMap(({ values }) => values),
  ]);
  const newest = new Map(rows.filter(({ branch }) => Number(branch) === -1).map((row) => [row.owner, row]));
  const found = new Map<string, LogRead>();
  for (const [branch, reads] of branches.entries()) {
    const movements = rows.filter((row) => Number(row.branch) === branch);
    for (const read of reads) {
      found.set(keyOf(read), toLogRead(read, newest.get(read.customerId), movements));
    }
  }
  return found;
}

/** @param rows what the SELECT of the read returned, by owner and id, cut off after READ_SIZE rows. */
function toLogRead(read: RangeQuery, newest: Row | undefined, rows: readonly Row[]): LogRead {
  const { after, through, filter } = read;
  const owner = ownerIdOf(read);
  const dc = dcOf(filter);
  const movements = rows.filter(
    (row) => row.owner === owner && Number(row.transaction_id) > after && (dc === null || row.dc === dc),
  );
  const last = rows.length < READ_SIZE ? undefined : rows.at(-1);
  const filtersVersion = Number(newest?.filters_version ?? 0);
  if (last === undefined || Number(owner) < Number(last.owner)) {
    const end = through ?? Number(newest?.newest ?? 0);
    return { movements, through: Math.max(after, end), complete: through === null, filtersVersion };
  }
  const end = last.owner === owner ? Number(last.transaction_id) : after;
  return { movements, through: Math.max(after, end), complete: false, filtersVersion };
}

/**
 * Opens the log for the webhooks of one process. Reads of many webhooks share a statement. Webhooks of one customer with the same
 * filter share what was read.
 */
export function openMovementLog(database: Sql, cache: LogCache = createLogCache()): MovementLog {
  /** Reads that have not begun yet, by `keyOf`. Webhooks with the same filter that are woken together share one of them. */
  const waiting = new Map<string, Promise<LogRead>>();
  const readInGroup = createBatcher(
    (reads: readonly RangeQuery[]) => {
      for (const read of reads) waiting.delete(keyOf(read));
      return readRanges(database, reads);
    },
    { workers: 2, maxItems: READS_PER_STATEMENT },
  );
  const readRange = (read: RangeQuery): Promise<LogRead> => {
    const key = keyOf(read);
    const shared = waiting.get(key) ?? readInGroup(read);
    waiting.set(key, shared);
    return shared;
  };

  return {
    async read({ webhookId, customerId, filters, after, highestRecordedId }) {
      const range = filters.findLast(({ from }) => from <= after) ?? filters[0];
      if (range === undefined) throw new Error(`webhook ${webhookId} has no filter`);
      // After a crash, or a shutdown that cut POSTs short, only some of the movements up to highestRecordedId have results.
      const hasResults = after < highestRecordedId;
      const ends = [range.through, hasResults ? highestRecordedId : null].filter((end) => end !== null);
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
