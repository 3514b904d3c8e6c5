import { hash } from 'node:crypto';
import { createTally, type Movement } from './movement.ts';

/** Counts the equal entries of a file, with little memory. */

/** A file returns to a day whose counts have been dropped. It has to be read again, with all counts kept. */
export class UnorderedFileError extends Error {
  override name = 'UnorderedFileError';
}

/** Entries whose counts are kept: about 3 MB. */
const MAX_KEPT = 100_000;

/** The memory of a day besides the counts of its entries, in entries. */
const DAY_OVERHEAD = 30;

/** Slots for the entries of a day. Most days have a few. */
const DAY_SLOTS = 16;

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
    return { countIn: createTally(DAY_SLOTS), size: DAY_OVERHEAD };
  }

  /** Makes a day the latest one, and drops the days that were used longest ago. */
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

/** The length of the longest amount whose thousandths are exact in a JavaScript number: twelve digits before the point. */
const LONGEST = 15;
const WORD = 2 ** 32;
/** Thousandths take 50 bits, so this bit of the upper word is free. */
const DEBIT = 2 ** 30;

/**
 * Creates a function that makes a 64-bit key for a tally from a direction and an amount in the form of `canonical`. Nearly all amounts are
 * short enough to be the key themselves. Such keys are never shared, and take a tenth of the time of a hash. A longer amount is
 * hashed. Returns the same buffer each time.
 */
export function createAmountKeys(): (dc: Movement['dc'], amount: string) => Buffer {
  const key = Buffer.alloc(8);
  return (dc, amount) => {
    if (amount.length > LONGEST) return hash('sha256', `${dc} ${amount}`, 'buffer');
    const thousandths =
      amount.at(-3) === '.'
        ? Number(amount.slice(0, -3) + amount.slice(-2)) * 10
        : Number(amount.slice(0, -4) + amount.slice(-3));
    const low = thousandths % WORD;
    key.writeUInt32BE((thousandths - low) / WORD + (dc === 'Debit' ? DEBIT : 0), 0);
    key.writeUInt32BE(low, 4);
    return key;
  };
}
