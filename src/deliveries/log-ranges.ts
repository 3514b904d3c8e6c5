import type { Filter } from './filters.ts';
import type { LoggedMovement } from './run/types.ts';
import type { LogFilter } from './webhook-state.ts';

/** Plans reads of the movement log: which range of ids a webhook reads next, which ranges share a SELECT, and who gets which rows. */

/** The most movements that one read gets, and that one SELECT returns for all reads that share it. */
export const READ_SIZE = 300;

/** A webhook's request to the log: the movements after `after` that match its filters. */
export interface LogRequest {
  webhookId: string;
  customerId: string;
  filters: readonly LogFilter[];
  after: number;
  /** Up to this id, some movements already have results. Those are left out. */
  highestRecordedId: number;
  /** The most movements to read. */
  limit: number;
  /** Whether the bodies are extended. */
  isExtended: boolean;
}

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

/** A range of the log that is read with one filter. */
export interface LogRange {
  customerId: string;
  filter: Filter;
  after: number;
  /** Inclusive; null: up to the newest. */
  through: number | null;
  /** Leaves out the movements that this webhook has results for; null: leaves out none. */
  withoutResultsOf: string | null;
  /** The most movements to read. */
  limit: number;
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

/** Equal for equal ranges. */
export const keyOf = (range: LogRange): string => JSON.stringify(range);

/** The movements to read: a customer's, or those of an account, in both directions or in one. */
type Log = Pick<LogRange, 'customerId' | 'filter'>;

/** The column that begins the index of a log. */
export const ownerOf = ({ filter }: Log): 'customer_id' | 'account_id' =>
  filter.accountId === null ? 'customer_id' : 'account_id';

export const ownerIdOf = ({ filter, customerId }: Log): string => filter.accountId ?? customerId;

export const dcOf = ({ event }: Filter): string | null =>
  event === 'NEW_TRANSACTION' ? null : event === 'NEW_DEBIT' ? 'Debit' : 'Credit';

/** The index of a log, and its columns in their order. @param alias of the table. */
export function indexOf(log: Log, alias: string): { name: string; columns: string } {
  const owner = ownerOf(log);
  const of = owner === 'customer_id' ? 'customer' : 'account';
  return dcOf(log.filter) === null
    ? { name: `transactions_${of}_page`, columns: `${alias}.${owner}, ${alias}.id` }
    : { name: `transactions_${of}_dc`, columns: `${alias}.${owner}, ${alias}.dc, ${alias}.id` };
}

const isPlain = ({ through, withoutResultsOf }: LogRange): boolean =>
  through === null && withoutResultsOf === null;

/**
 * Ranges up to the newest movement share one SELECT for each index and direction: parsing and planning one SELECT for each range would cost more than
 * reading a few movements. The others are read alone.
 */
export function groupRanges(all: readonly LogRange[]): LogRange[][] {
  const shared = new Map<string, LogRange[]>();
  for (const range of all.filter(isPlain)) {
    const key = `${ownerOf(range)} ${dcOf(range.filter)}`;
    shared.set(key, [...(shared.get(key) ?? []), range]);
  }
  return [...shared.values(), ...all.filter((range) => !isPlain(range)).map((range) => [range])];
}

/** Whether a range got nothing because a large backlog filled the SELECT that they share. */
export const isCrowdedOut = (range: LogRange, { movements, complete, through }: LogRead): boolean =>
  isPlain(range) && movements.length === 0 && !complete && through === range.after;

/** A customer's newest movement and filters, at the moment of a read. */
export interface Newest {
  newest: string | null;
  filters_version: string | number;
}

/**
 * Takes what a range has got of its group's rows.
 * @param rows what the group's SELECT returned, by owner and id.
 * @param limit of the SELECT.
 */
export function toLogRead<Row extends LoggedMovement & { owner: string }>(
  range: LogRange,
  newest: Newest | undefined,
  rows: readonly Row[],
  limit: number,
): LogRead {
  const { after, through, filter, limit: own } = range;
  const owner = ownerIdOf(range);
  const dc = dcOf(filter);
  const movements = rows.filter(
    (row) => row.owner === owner && Number(row.transaction_id) > after && (dc === null || row.dc === dc),
  );
  const filtersVersion = Number(newest?.filters_version ?? 0);
  // A range may get more than it asked for, because it shares the limit of its group.
  if (movements.length > own) {
    const part = movements.slice(0, own);
    return { movements: part, through: Number(part.at(-1)?.transaction_id), complete: false, filtersVersion };
  }
  const last = rows.length < limit ? undefined : rows.at(-1);
  if (last === undefined || Number(owner) < Number(last.owner)) {
    const end = through ?? Number(newest?.newest ?? 0);
    return { movements, through: Math.max(after, end), complete: through === null, filtersVersion };
  }
  const end = last.owner === owner ? Number(last.transaction_id) : after;
  return { movements, through: Math.max(after, end), complete: false, filtersVersion };
}
