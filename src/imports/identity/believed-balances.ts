import { append } from './append.ts';
import type { Laid } from './laid.ts';
import type { StatementRow } from './statement.ts';
import { balanceBefore, type Walk } from './walks.ts';

/**
 * Says which balances are believed. A statement's balance is believed if it links with a neighbouring row, with the statement, or
 * with another statement of the day. Balances of rows without a statement must link with each other and with a statement, because a
 * client may repeat one balance or count from zero.
 */
export interface BelievedBalances {
  add(laid: Laid): void;
  isBelieved(laid: Laid, position: number): boolean;
}

export function createBelievedBalances(): BelievedBalances {
  /** The balances of statements, by day. */
  const balances = new Set<string>();
  /** Walks that are believed once a statement has this balance. */
  const waiting = new Map<string, Walk[]>();
  const met = new Set<Walk>();

  const needsOther = ({ statement }: Laid, walk: Walk) => statement.kind === 'none' || !walk.isLinked;

  function addStep(laid: Laid, walk: Walk, key: string): void {
    if (needsOther(laid, walk)) {
      if (balances.has(key)) met.add(walk);
      else append(waiting, key, walk);
    }
    if (laid.statement.kind === 'none') return;
    for (const it of waiting.get(key) ?? []) if (it !== walk) met.add(it);
    balances.add(key);
  }

  return {
    add(laid) {
      for (const walk of laid.walks) {
        for (const position of walk.positions) {
          const row = laid.statement.rows[position] as StatementRow;
          addStep(laid, walk, `${row.day} ${row.balance}`);
          addStep(laid, walk, `${row.day} ${balanceBefore(row)}`);
        }
      }
    },
    isBelieved(laid, position) {
      const walk = laid.walkOf.get(position);
      if (walk === undefined) return false;
      if (laid.statement.kind === 'none') return walk.positions.length > 1 && met.has(walk);
      return walk.isLinked || met.has(walk);
    },
  };
}
