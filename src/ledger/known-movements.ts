import { hash, randomFillSync } from 'node:crypto';
import type { Sql } from '../database/transaction.ts';
import type { Movement } from './movement.ts';

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

/** The length of the longest amount with two decimals whose hundredths are exact in a JavaScript number. */
const LONGEST = 16;
const WORD = 2 ** 32;
/** Hundredths take 50 bits, so this bit of the upper word is free. */
const DEBIT = 2 ** 30;

/**
 * Creates a function that makes a 64-bit key for a tally from a direction and an amount with two decimals. Nearly all amounts are
 * short enough to be the key themselves. Such keys are never shared, and take a tenth of the time of a hash. A longer amount is
 * hashed. Returns the same buffer each time.
 */
export function createAmountKeys(): (dc: Movement['dc'], amount: string) => Buffer {
  const key = Buffer.alloc(8);
  return (dc, amount) => {
    if (amount.length > LONGEST) return hash('sha256', `${dc} ${amount}`, 'buffer');
    const hundredths = Number(amount.slice(0, -3) + amount.slice(-2));
    const low = hundredths % WORD;
    key.writeUInt32BE((hundredths - low) / WORD + (dc === 'Debit' ? DEBIT : 0), 0);
    key.writeUInt32BE(low, 4);
    return key;
  };
}

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

/** An amount with two decimals: "7", "07.0" and "7.00" are the same, and must give the same id. */
export function canonical(money: string | null): string | null {
  if (money === null) return null;
  const [, sign = '', whole = '', fraction = ''] = /^(-?)0*(\d+?)(?:\.(\d*))?$/.exec(money) ?? [];
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

/** Compares rows with the stored movements that have their unique ids. */

/**
 * Why a row counts as known:
 *
 * - `same`: the row has the unique id and the content of a stored movement, or it came in a statement and has the same reference or
 *   balance as the stored movement.
 * - `changed`: the row has the unique id of a stored movement, but another text or balance; or it came in a statement and has
 *   another day, balance or text than the stored movement.
 * - `assumed`: nothing tells the row apart from a stored movement, but nothing proves that they are the same.
 * - `conflict`: the row has the unique id of a stored movement, but another direction, amount or date.
 */
export const DUPLICATE_REASONS = ['same', 'changed', 'assumed', 'conflict'] as const;
export type DuplicateReason = (typeof DUPLICATE_REASONS)[number];
/** Why a row is listed. `assumed_new`: it was stored, although it may be a stored movement. */
export const LISTED_REASONS = [...DUPLICATE_REASONS, 'assumed_new'] as const;

/** A movement as it is stored. */
export type StoredMovement = Movement & { id: string };

/** The movement that a row was taken for. In a dry run, `stored` is null if that is an earlier row of the same file. */
export interface Known {
  reason: DuplicateReason;
  stored: StoredMovement | null;
}

/** A row with the unique id that it is stored under. */
export interface IdentifiedRow {
  line: number;
  uniqueId: string;
  movement: Movement;
}

const COLUMNS = `
  id, account_id, CONVERT(unique_id USING utf8mb4) AS unique_id, name, dc, code, amount, balance, description, date_issue, opponent_id,
  opponent_iban`;
/** Index: transactions_unique_id. */
const READ = `
  SELECT ${COLUMNS} FROM transactions FORCE INDEX (transactions_unique_id) WHERE (account_id, unique_id) IN (?)`;
/** Index: the primary key. */
const READ_BY_ID = `SELECT ${COLUMNS} FROM transactions WHERE id IN (?)`;

export const keyOf = ({ account_id }: { account_id: string }, uniqueId: string) =>
  `${account_id} ${uniqueId}`;

/** Finds the stored movement with the account and unique id of a row. */
export type FindStored = (row: IdentifiedRow) => StoredMovement | undefined;

/** Reads the stored movements of rows. @returns a function that finds them, for these rows only. */
export async function readStored(sql: Sql, rows: readonly IdentifiedRow[]): Promise<FindStored> {
  const keys = new Map(
    rows.map(({ movement, uniqueId }) => [keyOf(movement, uniqueId), [movement.account_id, uniqueId]]),
  );
  const found = await sql.query<(StoredMovement & { unique_id: string })[]>(READ, [[...keys.values()]]);
  const stored = new Map(found.map((it) => [keyOf(it, it.unique_id), it]));
  return ({ movement, uniqueId }) => stored.get(keyOf(movement, uniqueId));
}

/** @returns stored movements by their ids. */
export async function readStoredById(
  sql: Sql,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredMovement>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<StoredMovement[]>(READ_BY_ID, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Says how a row differs from the movement that has its unique id. */
export function compareWith({ movement, uniqueId }: IdentifiedRow, stored: StoredMovement): DuplicateReason {
  if (versionOf(movement) !== versionOf(stored)) return 'conflict';
  if (isContentId(movement, uniqueId)) return 'assumed';
  return textsOf(movement) === textsOf(stored) ? 'same' : 'changed';
}

type Content = Omit<Movement, 'account_id' | 'unique_id'>;

/** Rows with the same unique id and different versions conflict. */
export const versionOf = ({
  dc,
  amount,
  date_issue,
}: Pick<Movement, 'dc' | 'amount' | 'date_issue'>): string => `${dc} ${canonical(amount)} ${date_issue}`;

export const textsOf = ({ name, code, balance, description, opponent_id, opponent_iban }: Content): string =>
  JSON.stringify([name, code, canonical(balance), description, opponent_id, opponent_iban]);
