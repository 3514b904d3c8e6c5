import { append } from './append.ts';
import { areLinked, isWalk, type Laid } from './laid.ts';

/**
 * The statements that are on one walk of balances: one begins with the balance with which the other ends, or both have a booking in
 * common. Rows of one walk that are not laid on each other are different bookings.
 */
export interface JoinedWalks {
  /** Adds a statement, and joins it with those that it is linked with. */
  add(laid: Laid): void;
  join(one: Laid, other: Laid): void;
  areJoined(one: Laid, other: Laid): boolean;
}

/** Statements with the same balance that are looked at. Balances that many statements have say little. */
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
