import { append } from './append.ts';
import { areLinked, isWalk, type Laid } from './laid.ts';

/**
 * Finds the statements on one walk of balances. Two statements are joined if one begins with the balance with which the other ends,
 * or if they have a booking in common. Rows of one walk that were not matched with each other are different bookings.
 */
export interface JoinedWalks {
  /** Adds a statement, and joins it with the statements that it is linked with. */
  add(laid: Laid): void;
  join(one: Laid, other: Laid): void;
  areJoined(one: Laid, other: Laid): boolean;
}

/** Most statements with the same balance that are compared. A balance that many statements have says little. */
const MOST = 16;

export function createJoinedWalks(): JoinedWalks {
  // Union-find: the root names the walk.
  const parents = new Map<Laid, Laid>();
  const byOpening = new Map<bigint, Laid[]>();
  const byClosing = new Map<bigint, Laid[]>();

  const rootOf = (laid: Laid): Laid => {
    let root = laid;
    for (let next = parents.get(root); next !== undefined && next !== root; next = parents.get(root)) {
      parents.set(root, parents.get(next) ?? next);
      root = next;
    }
    return root;
  };
  const join = (one: Laid, other: Laid) => {
    if (isWalk(one) && isWalk(other)) parents.set(rootOf(one), rootOf(other));
  };

  return {
    add(laid) {
      if (!isWalk(laid)) return;
      for (const { opening, closing } of laid.ends) {
        const [after, before] = [byOpening.get(closing) ?? [], byClosing.get(opening) ?? []];
        for (const other of [...after.slice(-MOST), ...before.slice(-MOST)])
          if (areLinked(laid, other)) join(laid, other);
        append(byOpening, opening, laid);
        append(byClosing, closing, laid);
      }
    },
    join,
    areJoined: (one, other) => rootOf(one) === rootOf(other),
  };
}
