import { append } from './append.ts';
import { haveOtherReferences } from './overlaps.ts';
import type { StatementRow } from './statement.ts';
import { balanceBefore } from './walks.ts';

/**
 * Compares two statements of the same days, day by day. A bank may list the bookings of a day in another order, renumber them, or
 * insert one on an earlier day, which changes all later balances.
 */

interface ComparedStatement {
  statement: { format: string; rows: readonly StatementRow[] };
  /** The rows of each day, in the order of their walk. */
  days: ReadonlyMap<string, readonly number[]>;
}

/** A shift without an explanation is believed when this many rows with at least two different amounts are the same. */
const ROWS_OF_SHIFT = 3;

interface ComparedDays {
  /** Rows of the first and the second statement that are the same booking. */
  pairs: { one: number; other: number }[];
  /** By how much the balances of the first statement are higher than those of the second. */
  shift: bigint;
  /** Rows of the first statement, on earlier days, explain the shift. */
  isExplained: boolean;
  /** A shift of one day may also be the same payments again. */
  isDoubtful: boolean;
  /** Days on which both begin, or end, with the same balance, and neither contains the other. */
  contradictions: string[];
}

/** @returns null if nothing links the two. */
export function compareDays(one: ComparedStatement, other: ComparedStatement): ComparedDays | null {
  const [rows, others] = [one.statement.rows, other.statement.rows];
  const days = [...one.days.keys()].filter((day) => other.days.has(day)).sort();
  const result: ComparedDays = {
    pairs: [],
    shift: 0n,
    isExplained: false,
    isDoubtful: false,
    contradictions: [],
  };
  const areOfFormat = one.statement.format === other.statement.format;
  let areReferencesOther = false;
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
      // The same rows with other balances. They may begin within the day.
      if (compared > 0 || !isContained) break;
      result.shift = closing;
      result.isExplained = closing === sumBefore(rows, day);
    }
    if (!isContained) {
      result.contradictions.push(day);
      break;
    }
    for (const pair of pairs) {
      result.pairs.push(pair);
      const [row, with_] = [rows[pair.one] as StatementRow, others[pair.other] as StatementRow];
      amounts.add(row.amount);
      areReferencesOther ||= areOfFormat && haveOtherReferences(row, with_);
    }
    compared += pairs.length;
    shift = closing;
  }
  if (result.pairs.length + result.contradictions.length === 0) return null;
  if (result.shift === 0n || result.isExplained) return result;
  result.isDoubtful = days.length === 1;
  return compared >= ROWS_OF_SHIFT && amounts.size > 1 && !areReferencesOther ? result : null;
}

/** The sum of the rows on the days before. */
function sumBefore(rows: readonly StatementRow[], day: string): bigint {
  let sum = 0n;
  for (const row of rows) if (row.day < day) sum += row.amount;
  return sum;
}

function endsOf(rows: readonly StatementRow[], positions: readonly number[]) {
  const [first, last] = [rows[positions[0] ?? -1], rows[positions.at(-1) ?? -1]];
  const opening = first === undefined ? null : balanceBefore(first);
  const closing = last?.balance ?? null;
  return opening === null || closing === null ? null : { opening, closing };
}

/** Pairs rows with the same amount. Rows with the same reference come first. */
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
      append(free, key, other);
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
