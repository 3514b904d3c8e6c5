import { LRUCache } from 'lru-cache';
import type { Filter } from '../filters.ts';
import type { LoggedMovement } from '../run/types.ts';

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

type CachedRead = Omit<LogRange, 'withoutResultsOf'>;

/** The newest movements that webhooks have read with one filter, without a gap. */
interface CachedRange extends Omit<LogRead, 'complete'> {
  from: number;
}

/** Caches movements with the bodies made of them. Movements never change, so nothing has to be invalidated. */
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
    async read({ customerId, filter, after, through, limit }, query) {
      if (through !== null) return query();
      const key = `${customerId} ${filter.accountId} ${filter.event}`;
      const range = ranges.get(key);
      if (range !== undefined && range.from <= after && after < range.through)
        return slice(range, after, limit);
      const read = await query();
      const before = ranges.get(key);
      // Another webhook may have read further in the meantime.
      if (before === undefined || before.through < read.through) ranges.set(key, extend(before, after, read));
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

function extend(before: CachedRange | undefined, after: number, read: LogRead): CachedRange {
  const { through, filtersVersion } = read;
  if (before?.through !== after) return { from: after, movements: read.movements, through, filtersVersion };
  const movements = before.movements.concat(read.movements);
  const dropped = Math.max(0, movements.length - MAX_MOVEMENTS_PER_FILTER);
  const from = dropped === 0 ? before.from : Number(movements[dropped - 1]?.transaction_id);
  return { from, movements: movements.slice(dropped), through, filtersVersion };
}
