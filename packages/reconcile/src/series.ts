import type { Statement } from './statement.ts';

/** What the days, balances, numbers and sums of two statements say, without their rows. */

/** The days of a statement, and the balances before and after its entries. */
export interface Span {
  from: string;
  to: string;
  opening: bigint | null;
  closing: bigint | null;
}

/** The name of a statement in its series. */
export type Named = Pick<Statement, 'kind' | 'format' | 'number' | 'sequence' | 'to'>;

/** The sums of the entries. */
export interface Sums {
  credits: bigint;
  debits: bigint;
}

/**
 * Whether one statement ends with the balance with which the other begins. Their days may overlap, because banks book some entries on
 * earlier days.
 */
export const leadsTo = (one: Span, next: Span): boolean =>
  one.from <= next.from && one.to <= next.to && one.closing !== null && one.closing === next.opening;

/** Statements of one day and series have numbers at most this far apart. */
const NEAR = 10;

/** Whether the numbers of two final statements of one series with the same last day say that they have different bookings. */
export function areSeparate(one: Named, other: Named): boolean {
  if (one.kind !== 'final' || other.kind !== 'final' || one.format !== other.format || one.to !== other.to)
    return false;
  if (one.number === null || other.number === null) return false;
  if (one.number === other.number)
    return one.sequence !== null && other.sequence !== null && one.sequence !== other.sequence;
  // A name that is not a number names a file, not a place in a series.
  return Math.abs(Number(one.number) - Number(other.number)) <= NEAR;
}

/**
 * Whether numbers count downloads: a longer statement of a day has another number than the one that it contains. Where a statement returns to
 * the opening balance, the two may follow each other, and only a booking in common proves it.
 */
export function areNumbersOfDownloads<T extends Named & Span>(
  statements: readonly T[],
  haveCommonBooking: (one: T, other: T) => boolean,
): boolean {
  const closings = new Set(statements.map(({ to, closing }) => `${to} ${closing}`));
  const firsts = new Map<string, T>();
  return statements.some((it) => {
    const key = `${it.format} ${it.to} ${it.opening}`;
    const first = firsts.get(key) ?? it;
    firsts.set(key, first);
    if (first.closing === it.closing || !areSeparate(first, it)) return false;
    return !closings.has(`${it.to} ${it.opening}`) || haveCommonBooking(first, it);
  });
}

/** Whether the sums of one statement are within those of another. */
const contains = (other: Sums, one: Sums): boolean =>
  one.credits <= other.credits && one.debits <= other.debits;

/** Whether one of two statements may contain the other, by its sums. */
const mayContain = (one: Sums, other: Sums): boolean => contains(one, other) || contains(other, one);

/**
 * Whether one of two statements may lie within the other, of which the first ends with the balance with which it begins. A statement of an
 * unfinished day whose entries cancel out begins and ends with the opening balance of the day.
 */
export const mayBeWithin = (one: Named & Span & Sums, other: Named & Span & Sums): boolean =>
  one.opening === one.closing && one.to >= other.from && mayContain(one, other) && !areSeparate(one, other);

/** Whether two statements begin with the same balance and end with different balances, and neither contains the other. */
export const contradict = (one: Named & Span & Sums, other: Named & Span & Sums): boolean =>
  one.from === other.from &&
  one.opening === other.opening &&
  one.closing !== other.closing &&
  !mayContain(one, other) &&
  !areSeparate(one, other);

/** What repetitions of a statement have in common. */
export const repetitionKey = ({ from, to, opening, closing }: Span): string =>
  `${to} ${opening} ${closing} ${opening === closing ? from : ''}`;

/**
 * Whether one of two statements repeats the other. The same statement may have come in another format with another number, and a statement of
 * an unfinished day may have the same balances and fewer entries.
 */
export const repeats = (one: Named & Span, other: Named & Span): boolean =>
  repetitionKey(one) === repetitionKey(other) && !areSeparate(one, other);
