import { findKnown } from './known.ts';
import { currencyOf, type Entry, prepare, type Statement } from './plain-statement.ts';
import type { Candidate, StoredStatement } from './statement.ts';

/** An entry that you have stored. Entries with the same id are one booking that several statements have. */
export interface StoredEntry extends Entry {
  id: string;
}

/**
 * The decision about an entry.
 *
 * - `new`: a booking that is not known. `isAssumed`: nothing proves that it is none of the known ones.
 * - `known`: the same booking as `entry`, which is the object that you passed: a stored entry (`isStored`), or an earlier entry of the received
 *   statements. `same`: the balances or the reference prove it. `changed`: they do, and the day or the balance has changed. `assumed`: it is
 *   likely, and not proven.
 * - `conflict`: it has the bank's id of `entry` and another amount, and the statement, which is final, does not have `entry`. Only one of
 *   them was booked. You decide which.
 * - `pending`: it is not booked yet, and is not compared.
 */
export type EntryDecision<S extends StoredEntry = StoredEntry> =
  | { outcome: 'new'; isAssumed: boolean }
  | { outcome: 'known'; reason: 'same' | 'changed' | 'assumed'; isStored: true; entry: S }
  | { outcome: 'known'; reason: 'same' | 'changed' | 'assumed'; isStored: false; entry: Entry }
  | { outcome: 'conflict'; entry: S | Entry }
  | { outcome: 'pending' };

export interface KnownEntries<S extends StoredEntry = StoredEntry> {
  /** For each received statement, the decision about each of its entries. */
  decisions: EntryDecision<S>[][];
  /** What somebody should look at. `statement` is the position of the received statement. */
  warnings: { statement: number; message: string }[];
}

/**
 * Decides which entries of a file are bookings that are stored already.
 * @param stored the statements of the account that you have stored, in the order in which they came. Those of the days of the file, and of
 * three days before and after, are enough.
 * @param received the statements of the file that are about this account.
 * @param options.mayAssume whether an entry is taken for a stored one if nothing tells the two apart. The default is true.
 * @throws {TypeError} when a value is no amount or no date, or the statements are about several accounts.
 */
export function findKnownEntries<S extends StoredEntry>(
  stored: readonly Statement<S>[],
  received: readonly Statement[],
  { mayAssume = true }: { mayAssume?: boolean } = {},
): KnownEntries<S> {
  const known = prepare(stored, 'stored');
  const file = prepare(received, 'received', stored[0]);
  const bookings = new Map<string, number>();
  const entries: (S | Entry)[] = [];
  const movements: Candidate[] = [];
  const statements = known.map(({ received: it, positions }, index): StoredStatement => {
    const numbers = it.rows.map((row, at) => {
      const entry = stored[index]?.entries[positions[at] as number] as S;
      if (typeof entry.id !== 'string')
        throw new TypeError(
          `stored[${index}].entries[${positions[at]}].id is missing: your id of the entry, a text.`,
        );
      const number = bookings.get(entry.id) ?? entries.push(entry) - 1;
      if (number === movements.length) movements.push({ ...row, id: entry.id });
      bookings.set(entry.id, number);
      return number;
    });
    return { ...it, id: String(index), movements: numbers };
  });
  const found = findKnown(
    { movements, statements },
    file.map((it) => it.received),
    { mayAssume, currency: currencyOf(received) ?? currencyOf(stored) },
  );
  const decisions = file.map(({ positions }, index) => {
    const whole = received[index]?.entries ?? [];
    const decided = whole.map((): EntryDecision<S> => ({ outcome: 'pending' }));
    for (const [at, decision] of (found.decisions[index] ?? []).entries()) {
      const position = positions[at] as number;
      if (decision.outcome === 'new') {
        entries[decision.movement] = whole[position] as Entry;
        decided[position] = { outcome: 'new', isAssumed: decision.isAssumed };
      } else if (decision.outcome === 'conflict') {
        decided[position] = { outcome: 'conflict', entry: entries[decision.movement] as S | Entry };
      } else {
        const { movement, reason } = decision;
        decided[position] =
          movement < movements.length
            ? { outcome: 'known', reason, isStored: true, entry: entries[movement] as S }
            : { outcome: 'known', reason, isStored: false, entry: entries[movement] as Entry };
      }
    }
    return decided;
  });
  return { decisions, warnings: found.warnings };
}
