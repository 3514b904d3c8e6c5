/** Finds the balance at the end of a day. */

/** A statement, or a movement with the balance after it. Hundredths of the currency. */
export interface BalanceStep {
  id: string;
  /** null: the file does not say. */
  opening: bigint | null;
  closing: bigint;
  entries: number;
}

/**
 * Finds the last step of a day, in whatever order the steps came: no other step begins with its closing balance. Banks list a day's
 * entries in either order, and statements may come in any order. If several statements may be the last, takes the longest, and of equally
 * long statements the one that came last.
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
  // If the balances return to the first balance, there is no end.
  const candidates = ends.length > 0 ? ends : steps.map((step) => ({ ...step, entries: 0 }));
  const [last] = candidates.toSorted(
    (one, other) => other.entries - one.entries || Number(BigInt(other.id) - BigInt(one.id)),
  );
  return steps.find(({ id }) => id === last?.id);
}
