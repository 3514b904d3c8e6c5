import type { StatementRow } from './statement.ts';
import { balanceBefore } from './walks.ts';

/**
 * Compares two statements of the same days day by day. A bank lists the bookings of a day in another order, numbers them anew, or inserts
 * one on an earlier day, after which all balances are other ones.
 */

export interface ComparedStatement {
  statement: { rows: readonly StatementRow[] };
  /** The rows of each day, in the order of their walk. */
  days: ReadonlyMap<string, readonly number[]>;
}

/** A shift that nothing explains is believed when this many rows with at least two different amounts are the same. */
const ROWS_OF_SHIFT = 3;

export interface ComparedDays {
  /** Rows of the first and the second statement that are the same booking. */
  pairs: { one: number; other: number }[];
  /** By how much the balances of the first are more than those of the second, without a row that explains it. */
  shift: bigint;
  /** Days on which both begin, or end, with the same balance, and neither contains the other. */
  contradictions: string[];
}

/** @returns null: nothing links the two. */
export function compareDays(one: ComparedStatement, other: ComparedStatement): ComparedDays | null {
  const [rows, others] = [one.statement.rows, other.statement.rows];
  const days = [...one.days.keys()].filter((day) => other.days.has(day)).sort();
  const result: ComparedDays = { pairs: [], shift: 0n, contradictions: [] };
  const amounts = new Set<bigint>();
  let shift = 0n;
  let compared = 0;
  for (const day of days) {
    const [ofOne, ofOther] = [one.days.get(day) ?? [], other.days.get(day) ?? []];
    const found = endsOf(rows, ofOne);
    const expected = endsOf(others, ofOther);
    if (found === null || expected === null) continue;
    const pairs = pairRows(rows, ofOne, others, ofOther);
    const isContained = pairs.length === ofOther.length || pairs.length === ofOne.length;
    const closing = found.closing - expected.closing;
    const isAnchored = found.opening - expected.opening === shift || closing === shift;
    if (!isAnchored) {
      // The same stretch with other balances. It may begin within the day.
      if (compared > 0 || !isContained) break;
      result.shift = closing;
    }
    if (!isContained) {
      result.contradictions.push(day);
      break;
    }
    for (const pair of pairs) {
      result.pairs.push(pair);
      amounts.add((rows[pair.one] as StatementRow).amount);
    }
    compared += pairs.length;
    shift = closing;
  }
  const isProven = result.shift === 0n || (compared >= ROWS_OF_SHIFT && amounts.size > 1);
  return isProven && result.pairs.length + result.contradictions.length > 0 ? result : null;
}

function endsOf(rows: readonly StatementRow[], positions: readonly number[]) {
  const [first, last] = [rows[positions[0] ?? -1], rows[positions.at(-1) ?? -1]];
  const opening = first === undefined ? null : balanceBefore(first);
  const closing = last?.balance ?? null;
  return opening === null || closing === null ? null : { opening, closing };
}

/** Pairs rows with the same amount, those with the same reference first. */
function pairRows(
  rows: readonly StatementRow[],
  positions: readonly number[],
  others: readonly StatementRow[],
  otherPositions: readonly number[],
): { one: number; other: number }[] {
  const pairs: { one: number; other: number }[] = [];
  const taken = new Set<number>();
  const paired = new Set<number>();
  for (const keyOf of [
    ({ amount, reference }: StatementRow) => (reference === null ? null : `${amount} ${reference}`),
    ({ amount, text }: StatementRow) => `${amount} ${text}`,
    ({ amount }: StatementRow) => String(amount),
  ]) {
    const free = new Map<string, number[]>();
    for (const other of otherPositions) {
      const key = keyOf(others[other] as StatementRow);
      if (taken.has(other) || key === null) continue;
      const list = free.get(key);
      if (list === undefined) free.set(key, [other]);
      else list.push(other);
    }
    for (const list of free.values()) list.reverse();
    for (const one of positions) {
      if (paired.has(one)) continue;
      const key = keyOf(rows[one] as StatementRow);
      const other = key === null ? undefined : free.get(key)?.pop();
      if (other === undefined) continue;
      paired.add(one);
      taken.add(other);
      pairs.push({ one, other });
    }
  }
  return pairs;
}
