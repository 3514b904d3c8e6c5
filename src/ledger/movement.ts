import { hash, randomFillSync } from 'node:crypto';
import * as v from 'valibot';
import { findDecimalsFault, parseThousandths } from '../../packages/statements/src/amounts.ts';
import type { ValidationIssue } from '../platform/problem.ts';
import { CalendarDate, maxCharacters, wellFormed } from '../platform/validation.ts';
import { Id } from '../platform/whole-numbers.ts';

const MONEY_RULE =
  'must be a string such as "1250.00": at most 18 digits, and after a decimal point at most two, or three in a currency that has three, without an exponent';

/** A string, because a float is not exact. Fits DECIMAL(21,3). Zeros at the end are no digits. */
const Money = v.pipe(v.string(MONEY_RULE), v.regex(/^-?[0-9]{1,18}(\.[0-9]{1,3}0{0,15})?$/, MONEY_RULE));

/** Text that is stored exactly as it was sent. */
const text = (length: number) =>
  v.nullish(v.pipe(v.string('must be a string or null'), ...maxCharacters(length), wellFormed), null);

/** One movement as a client sends it, in JSON or as a line of NDJSON. */
export const Movement = v.strictObject({
  account_id: Id,
  dc: v.picklist(['Debit', 'Credit'], 'must be "Debit" or "Credit"'),
  code: text(64),
  amount: Money,
  balance: v.nullish(Money, null),
  description: text(4_000),
  date_issue: CalendarDate,
  opponent_id: text(64),
  opponent_iban: text(64),
  unique_id: text(255),
  name: text(255),
});

export type Movement = v.InferOutput<typeof Movement>;

/** The removed part of a customer's movements, as an import has read it before it checks its rows. */
export interface RemovedTime {
  /**
   * Grows when an account is to be deleted, gets its first statements or has its check_balances set, and when `removedBefore`
   * changes. If it has changed when the rows are stored, they have to be checked again.
   */
  removals: number;
  /** Movements that were issued before this day (YYYY-MM-DD) have been removed; null: none have. */
  removedBefore: string | null;
}

/**
 * Whether a movement is of a time whose movements have been removed. The movement may have been stored and delivered before, and
 * nothing is left to recognise it by. So it is rejected, and never stored and delivered a second time.
 */
export const isOfRemovedTime = (
  { date_issue }: { date_issue: string },
  { removedBefore }: Pick<RemovedTime, 'removedBefore'>,
): boolean => removedBefore !== null && date_issue < removedBefore;

/** The validation issue of such a movement. */
export const removedTimeIssue = ({ removedBefore }: RemovedTime): ValidationIssue => ({
  path: 'date_issue',
  message: `is before ${removedBefore}: the movements of that time have been removed, so a repeated one would not be recognised`,
});

/** The same issue for another customer's account and for an account that does not exist. */
export const UNKNOWN_ACCOUNT: ValidationIssue = {
  path: 'account_id',
  message: 'is not one of your accounts',
};

/** A third decimal other than 0. */
const THIRD_DECIMAL = /\.\d\d[1-9]/;

/** The validation issue of a movement whose amount or balance has more decimals than its currency; null: it has none. */
export function decimalsIssue(
  movement: Pick<Movement, 'amount' | 'balance'>,
  currency: string,
): ValidationIssue | null {
  for (const path of ['amount', 'balance'] as const) {
    const text = movement[path];
    if (text === null || !THIRD_DECIMAL.test(text)) continue;
    const message = findDecimalsFault({ amount: parseThousandths(text) }, currency);
    if (message !== null) return { path, message };
  }
  return null;
}

/** Whether a row without an id is taken for an equal stored movement (`known`, the default), or stored. */
export type Unidentified = 'known' | 'store';

/** Whether a movement has no id of its own, so that its content identifies it. */
export const isUnidentified = ({ unique_id }: Movement): boolean =>
  unique_id === null || unique_id.trim() === '';

/** Whether this unique id of a movement was made of its content. */
export const isContentId = (movement: Movement, uniqueId: string): boolean =>
  isUnidentified(movement) && uniqueId.startsWith('content:');

/**
 * Creates a function that returns the unique id of each movement of one import.
 *
 * A movement with a `unique_id` keeps it, byte by byte. A movement without one (absent, null or blank) gets
 * `content:<sha256 of all that it says>:<n>`, where n counts the movements of the same content within this import, from 1. Two equal
 * card payments on one day are therefore two movements, while the same statement sent again gives the same ids and is stored once.
 *
 * Because of this count, a resumed import must be read from its first row.
 *
 * @param importId makes the ids of movements without a `unique_id` differ between imports. Without it, equal movements of two
 * imports get the same id and are taken for one.
 */
export function createUniqueIds(importId?: string): (movement: Movement) => string {
  let countIn: ReturnType<typeof createTally> | null = null;
  return (movement) => {
    if (!isUnidentified(movement) && movement.unique_id !== null) return movement.unique_id;
    const { account_id, date_issue, dc, amount, balance, description } = movement;
    const { name, code, opponent_id, opponent_iban } = movement;
    const what = [account_id, date_issue, dc, canonical(amount), canonical(balance), description];
    const content = hash(
      'sha256',
      JSON.stringify([...what, name, code, opponent_id, opponent_iban]),
      'buffer',
    );
    // Created on first use, because it takes 12 KB, and most imports bring their own ids.
    countIn ??= createTally();
    const id = `content:${content.toString('hex')}:${countIn(content)}`;
    return importId === undefined ? id : `${id}:${importId}`;
  };
}

/**
 * An amount as `formatAmount` writes it for no currency, with two decimals or with a third that is not 0: "7", "07.0", "7.00" and "7.000"
 * are the same, and must give the same id.
 */
export function canonical(money: string | null): string | null {
  if (money === null) return null;
  const [, sign = '', whole = '', fraction = ''] =
    /^(-?)0*(0|[1-9]\d*)(?:\.((?:0*[1-9])*)0*)?$/.exec(money) ?? [];
  const digits = `${whole}.${fraction.padEnd(2, '0')}`;
  return digits === '0.00' ? digits : sign + digits;
}

const FIRST_SLOTS = 1_024;

/** A slot has three 32-bit words: the first 64 bits of the digest, and its count. A count of 0 is an empty slot. */
const SLOT_WORDS = 3;

/** The table grows beyond this load, because finding a slot in a fuller table takes many steps. */
const MAX_LOAD = 3 / 4;

/**
 * Creates a function that counts contents by their SHA-256. It returns how often the content has come so far, including this time.
 *
 * The counts are in a hash table in one typed array (open addressing, linear probing). A million contents take 25 MB. A Map of
 * their digests in hex took 150 MB, and as much again until it was garbage-collected. An import may be a gigabyte, which is at
 * most 16 million of the shortest movements: 400 MB.
 *
 * Two contents whose digests begin with the same 64 bits are counted as one (in a million movements, a chance of 1 in 37 million).
 * Both are stored nevertheless, because their ids contain the whole digest, and the same file still gives the same ids.
 *
 * @param firstSlots a power of two.
 */
export function createTally(firstSlots = FIRST_SLOTS): (digest: Buffer) => number {
  let slots = new Uint32Array(firstSlots * SLOT_WORDS);
  let used = 0;

  function grow(): void {
    const before = slots;
    slots = new Uint32Array(before.length * 2);
    for (let i = 0; i < before.length; i += SLOT_WORDS) {
      const [high = 0, low = 0, count = 0] = before.subarray(i, i + SLOT_WORDS);
      if (count > 0) slots.set([high, low, count], find(slots, high, low));
    }
  }

  return (digest) => {
    const high = digest.readUInt32BE(0);
    const low = digest.readUInt32BE(4);
    let at = find(slots, high, low);
    const count = (slots[at + 2] ?? 0) + 1;
    if (count === 1) {
      used += 1;
      if (used > (slots.length / SLOT_WORDS) * MAX_LOAD) {
        grow();
        at = find(slots, high, low);
      }
    }
    slots[at] = high;
    slots[at + 1] = low;
    slots[at + 2] = count;
    return count;
  };
}

/** Finds the slot of these 64 bits, or the empty slot where they belong. The number of slots is a power of two. */
function find(slots: Uint32Array, high: number, low: number): number {
  const mask = slots.length / SLOT_WORDS - 1;
  for (let slot = scatter(high, low) & mask; ; slot = (slot + 1) & mask) {
    const at = slot * SLOT_WORDS;
    if (slots[at + 2] === 0 || (slots[at] === high && slots[at + 1] === low)) return at;
  }
}

/** For each byte of a key, a random word for each of its values. Another process has others. */
const RANDOM = randomFillSync(new Uint32Array(8 * 256));

/**
 * Gives 64 bits a slot that a sender cannot predict. Without that, a file whose amounts all belong to one slot would take the square of
 * its length. Simple tabulation hashing, with which linear probing takes constant time on average whatever the keys
 * (https://arxiv.org/abs/1011.5200).
 */
function scatter(high: number, low: number): number {
  let mixed = 0;
  for (let byte = 0; byte < 4; byte += 1) {
    const shift = 8 * byte;
    mixed ^= RANDOM[256 * byte + ((low >>> shift) & 0xff)] as number;
    mixed ^= RANDOM[256 * (byte + 4) + ((high >>> shift) & 0xff)] as number;
  }
  return mixed;
}
