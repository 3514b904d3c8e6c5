import type { Statement } from './statement.ts';

/** What the numbers of statements say. Some banks number statements, some say the same number always, some count downloads. */

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
  const [first, second] = [Number(one.number), Number(other.number)];
  return Number.isNaN(first - second) || Math.abs(first - second) <= NEAR;
}

/**
 * Whether the numbers count downloads: of two statements with the same opening balance, last day and bookings, the longer one has another
 * number.
 */
export function areNumbersOfDownloads(
  seen: readonly (readonly { laid: { statement: Statement } }[])[],
): boolean {
  const isLonger = (one: Statement, other: Statement) =>
    one.opening !== null &&
    one.opening === other.opening &&
    one.closing !== other.closing &&
    one.number !== other.number &&
    areSeparate(one, other);
  return seen.some((rows) => {
    const [first, ...others] = rows.map(({ laid }) => laid.statement);
    return first !== undefined && others.some((it) => isLonger(first, it));
  });
}
