import type { Statement } from './statement.ts';

/** Interprets the numbers of statements. Some banks number statements, some send a constant number, and some count downloads. */

/** Statements of one day and series have numbers that are near each other. A month's statement beside those of days has another series. */
const NEAR = 10;

type Numbered = Pick<Statement, 'kind' | 'format' | 'number' | 'sequence' | 'to'>;

/** Whether their numbers say that two final statements of one series, about the same last day, are not the same bookings. */
export function areSeparate(one: Numbered, other: Numbered): boolean {
  if (one.kind !== 'final' || other.kind !== 'final' || one.format !== other.format || one.to !== other.to)
    return false;
  if (one.number === null || other.number === null) return false;
  if (one.number === other.number)
    return one.sequence !== null && other.sequence !== null && one.sequence !== other.sequence;
  // A name that is no number is of a file, and not of a series.
  return Math.abs(Number(one.number) - Number(other.number)) <= NEAR;
}

/** Whether two statements begin with the same balance, and one has more: it contains the other one if they have bookings in common. */
export const isLonger = (one: Statement, other: Statement): boolean =>
  one.opening !== null && one.opening === other.opening && one.closing !== other.closing;

/** Whether the numbers count downloads: a longer statement has another number than the one that it contains. */
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
