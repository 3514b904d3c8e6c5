import { findKnown } from './known.ts';
import { prepareStatement, type Statement } from './plain-statement.ts';
import { relate } from './relation.ts';
import { leadsTo } from './series.ts';
import { type Laid, layOut } from './walk.ts';

/** How two statements of one account relate. */
export interface StatementRelation {
  /**
   * `common`: they have bookings in common, as `pairs` says. `apart`: they have none. `contradict`: they begin or end with the same balance,
   * and have other entries. `unknown`: nothing says.
   */
  kind: 'common' | 'apart' | 'contradict' | 'unknown';
  /** Nothing proves it. It is only likely. */
  isAssumed: boolean;
  /** The second statement begins with the balance with which the first one ends, and covers the same or later days. */
  isNext: boolean;
  /** The same bookings: their positions among the entries of each statement. */
  pairs: { one: number; other: number; isAssumed: boolean }[];
}

/**
 * Compares two statements of one account, in any formats.
 * @throws {TypeError} when a value is no amount or no date, or the statements are about two accounts.
 */
export function relateStatements(one: Statement, other: Statement): StatementRelation {
  const [first, second] = [prepareStatement(one, 'one'), prepareStatement(other, 'other', one)] as const;
  const [laid, next] = [first, second].map(({ received }) => layOut(received, received.fingerprint)) as [
    Laid,
    Laid,
  ];
  const { kind, isAssumed } = relate(laid, next, {
    useNumbers: true,
    isReachable: () => false,
    hasNeighbour: false,
    isLinked: false,
  });
  const { rows } = first.received;
  const movements = rows.map((row, index) => ({ ...row, id: String(index) }));
  const stored = {
    movements,
    statements: [{ ...first.received, id: '1', movements: movements.map((_, index) => index) }],
  };
  const [decisions = []] = findKnown(stored, [second.received]).decisions;
  const pairs = decisions.flatMap((decision, position) =>
    decision.outcome === 'known' && decision.movement < rows.length
      ? [
          {
            one: first.positions[decision.movement] as number,
            other: second.positions[position] as number,
            isAssumed: decision.reason === 'assumed',
          },
        ]
      : [],
  );
  const isNext = leadsTo(laid, next);
  if (pairs.length > 0)
    return { kind: 'common', isAssumed: pairs.every((it) => it.isAssumed), isNext, pairs };
  // Statements of other days have nothing in common, unless a bank books an entry on another day later.
  const areOtherDays = laid.to < next.from || next.to < laid.from;
  return kind === 'common' || (kind === 'unknown' && areOtherDays)
    ? { kind: 'apart', isAssumed: true, isNext, pairs }
    : { kind, isAssumed, isNext, pairs };
}
