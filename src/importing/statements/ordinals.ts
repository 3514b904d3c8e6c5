import type { Movement } from '../movement.ts';
import { createTally } from '../tally.ts';
import { createAmountKeys } from './amount-keys.ts';

/** A file goes back to a day whose counts have been dropped. It has to be read again, with all counts kept. */
export class UnorderedFileError extends Error {
  override name = 'UnorderedFileError';
}

/** Entries whose counts are kept: about 3 MB. */
const MAX_KEPT = 100_000;

/** What a day takes beside the counts of its entries, in entries. */
const DAY_OVERHEAD = 30;

/** Slots for the entries of a day. Most days have a few. */
const FIRST_SLOTS = 16;

interface Day {
  countIn: (digest: Buffer) => number;
  size: number;
}

/**
 * Creates a function that counts the entries of a file with the same account, date, direction and amount, from 1. Files are in the
 * order of their dates, so only the counts of the last days are kept, and memory stays flat.
 * @param options.keepAll keeps the counts of all days, for a file in another order. A million entries take 25 MB.
 * @param options.most for tests.
 * @throws {UnorderedFileError} when the file goes back to a day whose counts were dropped. Never with `keepAll`.
 */
export function createOrdinals({ keepAll = false, most = MAX_KEPT } = {}): (movement: Movement) => number {
  const days = new Map<string, Day>();
  const dropped = new Set<string>();
  const keyOf = createAmountKeys();
  let kept = 0;
  let lastKey = '';
  let last: Day = openDay();

  function openDay(): Day {
    return { countIn: createTally(FIRST_SLOTS), size: DAY_OVERHEAD };
  }

  /** Makes a day the last one, and drops those that were the last ones longest ago. */
  function goTo(key: string): void {
    if (dropped.has(key)) throw new UnorderedFileError('the file is not in the order of its dates');
    const known = days.get(key);
    if (known === undefined) kept += DAY_OVERHEAD;
    last = known ?? openDay();
    lastKey = key;
    days.delete(key);
    days.set(key, last);
    for (const [other, { size }] of days) {
      if (keepAll || kept <= most || other === key) break;
      days.delete(other);
      dropped.add(other);
      kept -= size;
    }
  }

  return ({ account_id, date_issue, dc, amount }) => {
    const key = `${account_id} ${date_issue}`;
    if (key !== lastKey) goTo(key);
    const ordinal = last.countIn(keyOf(dc, amount));
    if (ordinal === 1) {
      last.size += 1;
      kept += 1;
    }
    return ordinal;
  };
}
