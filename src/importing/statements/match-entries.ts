import type { MinorUnits } from '../formats/statement.ts';

/**
 * Decides which entries of a statement are stored already. Banks send the same entry again in overlapping statements, in the final
 * statement after an interim report, and in other formats, with other texts and sometimes with another reference. They also send
 * several equal payments on one day. Only the account, the date, the direction and the amount of an entry never change.
 */

/** What tells apart entries of the same account, date, direction and amount. */
export interface Evidence {
  /** What the bank calls the entry. Blank counts as absent. */
  reference: string | null;
  /** The balance after the entry. */
  balance: MinorUnits | null;
}

/**
 * Matches the entries of one file with the movements that are stored, all of the same account, date, direction and amount. In this
 * order, each entry with one movement at most:
 *
 * 1. the same reference;
 * 2. the same balance after it;
 * 3. what is left, by count: the third such payment of a day is the third one stored. An entry with another reference is another
 *    one, unless the bank has given new references to the whole day and the balances do not differ.
 *
 * @param stored movements that this file did not store.
 * @param options.matchedBefore how many of them earlier entries of this file were matched with. A file is matched in parts.
 * @param options.referencesChanged the bank has given new references to the entries of this day.
 * @returns for each entry the index of its movement; null: it is new.
 */
export function matchEntries(
  entries: readonly Evidence[],
  stored: readonly Evidence[],
  { matchedBefore = 0, referencesChanged = false } = {},
): (number | null)[] {
  const matches = entries.map((): number | null => null);
  const free = new Set(stored.keys());
  const matchWhere = (isSame: (entry: Evidence, movement: Evidence) => boolean, keep = 0) => {
    for (const [index, entry] of entries.entries()) {
      if (matches[index] !== null || free.size <= keep) continue;
      for (const at of free) {
        if (!isSame(entry, stored[at] as Evidence)) continue;
        matches[index] = at;
        free.delete(at);
        break;
      }
    }
  };
  matchWhere(haveSameReference);
  matchWhere((entry, movement) => haveSameBalance(entry, movement) && !haveOtherReference(entry, movement));
  matchWhere(haveSameBalance);
  matchWhere(
    (entry, movement) =>
      !haveOtherReference(entry, movement) || (referencesChanged && !haveOtherBalance(entry, movement)),
    matchedBefore,
  );
  return matches;
}

const present = (reference: string | null): string | null =>
  reference === null || reference.trim() === '' ? null : reference.trim();

function haveSameReference(one: Evidence, other: Evidence): boolean {
  const reference = present(one.reference);
  return reference !== null && reference === present(other.reference);
}

function haveOtherReference(one: Evidence, other: Evidence): boolean {
  const [first, second] = [present(one.reference), present(other.reference)];
  return first !== null && second !== null && first !== second;
}

const haveSameBalance = (one: Evidence, other: Evidence): boolean =>
  one.balance !== null && one.balance === other.balance;

const haveOtherBalance = (one: Evidence, other: Evidence): boolean =>
  one.balance !== null && other.balance !== null && one.balance !== other.balance;
