/**
 * Decides which entries of a statement are stored already. Banks send the same entry again in overlapping statements, in the final
 * statement after an interim report, and in other formats, with other texts and sometimes with another reference. They also send
 * several equal payments on one day. Only the account, the date, the direction and the amount of an entry never change.
 */

/** Fields that tell apart entries of the same account, date, direction and amount. */
export interface Evidence {
  /** The bank's name for the entry. Blank counts as absent. */
  reference: string | null;
  /** The balance after the entry, with two decimals. */
  balance: string | null;
}

/** The movement that an entry is matched with. */
export interface Match {
  index: number;
  /** Nothing proves that the two are the same. */
  isAssumed: boolean;
}

export interface MatchOptions {
  /** How many of the movements earlier entries of this file were matched with. A file is matched in parts. */
  matchedBefore?: number;
  /** The bank has given new references to the entries of this day. */
  referencesChanged?: boolean;
  /** It did so because it has inserted an entry. The balances after it are then other ones too. */
  isInserted?: boolean;
  /** Whether entries are matched by count. */
  mayAssume?: boolean;
  /**
   * Whether an entry and a movement, by their indexes, are of statements that follow each other. Then they are never matched by count.
   */
  areApart?: (entry: number, movement: number) => boolean;
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
 * @returns for each entry the index of its movement, and whether only the count says so; null: it is new.
 */
export function matchEntries(
  entries: readonly Evidence[],
  stored: readonly Evidence[],
  {
    matchedBefore = 0,
    referencesChanged = false,
    mayAssume = true,
    isInserted = false,
    areApart = () => false,
  }: MatchOptions = {},
): (Match | null)[] {
  const matches = entries.map((): Match | null => null);
  const movements = createFreeMovements(stored);
  const matchWhere = (
    candidatesFor: (entry: Evidence) => Candidates,
    isSame: (entry: Evidence, movement: Evidence, at: { entry: number; movement: number }) => boolean,
    { keep = 0, isAssumed = false } = {},
  ) => {
    for (const [index, entry] of entries.entries()) {
      if (movements.count() <= keep) return;
      if (matches[index] !== null) continue;
      const taken = movements.take(candidatesFor(entry), (movement, at) =>
        isSame(entry, movement, { entry: index, movement: at }),
      );
      if (taken !== null) matches[index] = { index: taken, isAssumed };
    }
  };
  matchWhere(movements.withReferenceOf, haveSameReference);
  matchWhere(
    movements.withBalanceOf,
    (entry, movement) => haveSameBalance(entry, movement) && !haveOtherReference(entry, movement),
  );
  matchWhere(movements.withBalanceOf, haveSameBalance);
  if (!mayAssume) return matches;
  matchWhere(
    (entry) =>
      referencesChanged || present(entry.reference) === null ? movements.all : movements.withoutReference,
    (entry, movement, at) =>
      !areApart(at.entry, at.movement) &&
      (!haveOtherReference(entry, movement) ||
        (referencesChanged && (isInserted || !haveOtherBalance(entry, movement)))),
    { keep: matchedBefore, isAssumed: true },
  );
  return matches;
}

/** Indexes of movements, in their order. Those before `from` are taken. */
interface Candidates {
  indexes: number[];
  from: number;
}

const none = (): Candidates => ({ indexes: [], from: 0 });

/** Finds movements that no entry has been matched with, without looking at all of them for each entry. */
function createFreeMovements(stored: readonly Evidence[]) {
  const withoutReference = none();
  const byReference = new Map<string, Candidates>();
  const byBalance = new Map<string, Candidates>();
  const isTaken = stored.map(() => false);
  let free = stored.length;
  const put = (into: Map<string, Candidates>, key: string, index: number) => {
    const candidates = into.get(key) ?? none();
    candidates.indexes.push(index);
    into.set(key, candidates);
  };
  for (const [index, { reference, balance }] of stored.entries()) {
    const name = present(reference);
    if (name === null) withoutReference.indexes.push(index);
    else put(byReference, name, index);
    if (balance !== null) put(byBalance, balance, index);
  }

  return {
    all: { indexes: [...stored.keys()], from: 0 },
    withoutReference,
    withReferenceOf: ({ reference }: Evidence) => byReference.get(present(reference) ?? '') ?? none(),
    withBalanceOf: ({ balance }: Evidence) => byBalance.get(balance ?? '') ?? none(),
    count: () => free,
    /** Takes the first of these movements that is the same; null: none is. */
    take(candidates: Candidates, isSame: (movement: Evidence, at: number) => boolean): number | null {
      const { indexes } = candidates;
      while (isTaken[indexes[candidates.from] ?? -1]) candidates.from += 1;
      for (let at = candidates.from; at < indexes.length; at += 1) {
        const index = indexes[at] as number;
        if (isTaken[index] || !isSame(stored[index] as Evidence, index)) continue;
        isTaken[index] = true;
        free -= 1;
        return index;
      }
      return null;
    },
  };
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
