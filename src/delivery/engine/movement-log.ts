import type { Sql } from '../../database/transaction.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { Filter } from '../../webhook-record/filter.ts';
import type { Delivery, LoggedMovement } from '../run/types.ts';
import type { LogFilter } from '../webhook-state.ts';
import { createLogCache, type LogCache } from './log-cache.ts';
import { type LogRange, type LogRead, readRanges } from './log-ranges.ts';
import { extend } from './logged-movement.ts';
import { addWithdrawals } from './withdrawals.ts';

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
      const { accountsDeleted, webhookId } = request;
      const found = await cache.read({ ...wanted, accountsDeleted }, () => readRange(wanted));
      const read = filter.withdrawals ? await addWithdrawals(database, webhookId, range, found) : found;
      return request.isExtended ? extendRead(database, read) : read;
    },
  };
}

/** Adds what the bank says. Leaves the last movements to the next read if the first ones say much. */
async function extendRead(sql: Sql, read: LogRead): Promise<LogRead> {
  const extended = await extend(sql, read.movements);
  if (extended.length === read.movements.length) return { ...read, movements: extended };
  const ids = new Set(extended.map(({ transaction_id }) => transaction_id));
  const missing = read.movements.findIndex(({ transaction_id }) => !ids.has(transaction_id));
  const movements = extended.slice(0, missing);
  const last = movements.at(-1);
  if (last === undefined) throw new Error('the first movement of a read was not extended');
  return { ...read, movements, through: Number(last.transaction_id), complete: false };
}

/** Turns a movement of the log into a delivery that was never attempted. */
export const toNewDelivery = (movement: LoggedMovement): Delivery => ({
  subjectId: Number(movement.transaction_id),
  source: 'log',
  attempts: 0,
  failures: 0,
  content: movement,
});
