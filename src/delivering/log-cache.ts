import type { Filter } from './filters.ts';
import type { LogRead } from './movement-log.ts';

/** Movements kept, of all customers together: a few tens of megabytes. */
const KEPT = 10_000;

/** Movements kept for one filter; webhooks that lag further behind read for themselves. */
const KEPT_OF_FILTER = 1_000;

/** Movements given at a time. */
const GIVEN = 300;

/** The newest movements that some webhook has read with one filter, without a gap. */
interface Segment extends Omit<LogRead, 'complete'> {
  from: number;
}

interface CachedRead {
  customerId: string;
  filter: Filter;
  after: number;
  through: number | null;
}

/**
 * Keeps what was read of the log for the customer's other webhooks with the same filter, which mostly are at about the same place:
 * the movements, and with them the bodies made of them. A movement never changes.
 */
export interface LogCache {
  read(read: CachedRead, query: () => Promise<LogRead>): Promise<LogRead>;
}

export function createLogCache(): LogCache {
  /** The one that was not used for the longest time comes first. */
  const segments = new Map<string, Segment>();
  let kept = 0;

  function put(key: string, segment: Segment): void {
    kept += segment.movements.length - (segments.get(key)?.movements.length ?? 0);
    segments.delete(key);
    segments.set(key, segment);
    for (const [oldest, { movements }] of segments) {
      if (kept <= KEPT) return;
      segments.delete(oldest);
      kept -= movements.length;
    }
  }

  return {
    async read({ customerId, filter, after, through }, query) {
      if (through !== null) return query();
      const key = `${customerId} ${filter.accountId} ${filter.event}`;
      const segment = segments.get(key);
      if (segment !== undefined && segment.from <= after && after < segment.through) {
        put(key, segment);
        return slice(segment, after);
      }
      const read = await query();
      const before = segments.get(key);
      // Another webhook may have read further in the meantime.
      if (before === undefined || before.through < read.through) put(key, extend(before, after, read));
      return read;
    },
  };
}

function slice({ movements, through, filtersVersion }: Segment, after: number): LogRead {
  const start = movements.findIndex(({ transaction_id }) => Number(transaction_id) > after);
  const given = start === -1 ? [] : movements.slice(start, start + GIVEN);
  const isWhole = start === -1 || start + GIVEN >= movements.length;
  return {
    movements: given,
    through: isWhole ? through : Number(given.at(-1)?.transaction_id),
    complete: false,
    filtersVersion,
  };
}

function extend(before: Segment | undefined, after: number, read: LogRead): Segment {
  const { through, filtersVersion } = read;
  if (before?.through !== after) return { from: after, movements: read.movements, through, filtersVersion };
  const movements = before.movements.concat(read.movements);
  const dropped = Math.max(0, movements.length - KEPT_OF_FILTER);
  const from = dropped === 0 ? before.from : Number(movements[dropped - 1]?.transaction_id);
  return { from, movements: movements.slice(dropped), through, filtersVersion };
}
