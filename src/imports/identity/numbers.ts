import type { Statement } from './statement.ts';

/** Interprets the numbers of statements. Some banks number statements, some send a constant number, and some count downloads. */

/**
 * Statements of one day and series have numbers at most this far apart. The statements of months and of days are different series.
 */
const NEAR = 10;

type Numbered = Pick<Statement, 'kind' | 'format' | 'number' | 'sequence' | 'to'>;

/** Whether the numbers of two final statements of one series with the same last day say that they have different bookings. */
export function areSeparate(one: Numbered, other: Numbered): boolean {
  if (one.kind !== 'final' || other.kind !== 'final' || one.format !== other.format || one.to !== other.to)
    return false;
  if (one.number === null || other.number === null) return false;
  if (one.number === other.number)
    return one.sequence !== null && other.sequence !== null && one.sequence !== other.sequence;
  // A name that is not a number names a file, not a place in a series.
  return Math.abs(Number(one.number) - Number(other.number)) <= NEAR;
}

/**
 * Whether two statements begin with the same balance and end with different ones. If they have bookings in common, one contains the
 * other.
 */
export const isLonger = (one: Statement, other: Statement): boolean =>
  one.opening !== null && one.opening === other.opening && one.closing !== other.closing;

/** Whether the numbers count downloads: a longer statement has another number than the statement that it contains. */
export function areNumbersOfDownloads(
  seen: readonly (readonly { laid: { statement: Statement } }[])[],
): boolean {
  return seen.some((rows) => {
    const [first, ...others] = rows.map(({ laid }) => laid.statement);
    return others.some(
      (it) =>
        first !== undefined && it.number !== first.number && isLonger(first, it) && areSeparate(first, it),
    );
  });
}
