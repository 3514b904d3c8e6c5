import { hash } from 'node:crypto';
import type { Sql } from '../database/transaction.ts';
import { canonical, createTally, isContentId, type Movement } from './movement.ts';

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
