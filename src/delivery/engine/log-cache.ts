import { LRUCache } from 'lru-cache';
import type { LogRange, LogRead } from './log-ranges.ts';

/** Caches reads of the movement log. Webhooks with the same filter mostly read at about the same place, so they share the cache. */

/** The most movements cached for all customers together: a few tens of megabytes. */
const MAX_MOVEMENTS = 10_000;

/** The most movements cached for one filter. Webhooks that lag further behind read from MySQL. */
const MAX_MOVEMENTS_PER_FILTER = 1_000;

/** `accountsDeleted`: as `WebhookState` has it. */
type CachedRead = Omit<LogRange, 'withoutResultsOf'> & { accountsDeleted: number };

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
