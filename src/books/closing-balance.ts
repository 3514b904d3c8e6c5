/** Finds out with which balance a day ends. */

/** A statement, or a movement with the balance after it. Hundredths of the currency. */
export interface BalanceStep {
  id: string;
  /** null: the file does not say. */
  opening: bigint | null;
  closing: bigint;
  entries: number;
}

/**
 * Finds the last of the steps of a day, whatever order they came in: none of the others begins where it ends. Banks list a day's entries
 * from the first to the last, or the other way round, and its statements may come in any order. Of two statements that both may be the
 * last, the longer one is, and then the one that came last.
 */
export function findLast<T extends BalanceStep>(steps: readonly T[]): T | undefined {
  const openings = new Map<bigint | null, Set<bigint>>();
  for (const { opening, closing } of steps)
    openings.set(opening, (openings.get(opening) ?? new Set()).add(closing));
  const goesOn = ({ closing }: T) => {
    const closings = openings.get(closing);
    return closings !== undefined && closings.size > (closings.has(closing) ? 1 : 0);
  };
  const ends = steps.filter((step) => !goesOn(step));
  // Balances that come back to where they began have no end.
  const candidates = ends.length > 0 ? ends : steps.map((step) => ({ ...step, entries: 0 }));
  const [last] = candidates.toSorted(
    (one, other) => other.entries - one.entries || Number(BigInt(other.id) - BigInt(one.id)),
  );
  return steps.find(({ id }) => id === last?.id);
}
