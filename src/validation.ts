import * as v from 'valibot';

/** MySQL's DATE starts at the year 1000. */
const DATE_SHAPE = /^([1-9]\d{3})-(\d{2})-(\d{2})$/;

/** Whether a text such as "2026-02-28" is a day of the (proleptic Gregorian) calendar. "2026-02-30" is not. */
export function isCalendarDate(text: string): boolean {
  const [, year, month, day] = DATE_SHAPE.exec(text) ?? [];
  if (year === undefined) return false;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

export const CalendarDate = v.pipe(
  v.string('must be a date written YYYY-MM-DD'),
  v.isoDate('must be a date that exists, written YYYY-MM-DD'),
  v.regex(DATE_SHAPE, 'must be a date from the year 1000, written YYYY-MM-DD'),
  v.check(isCalendarDate, 'must be a date that exists, written YYYY-MM-DD'),
);

/** Fits BIGINT UNSIGNED with room to spare. Ids start at 1. */
const ID_SHAPE = /^[1-9]\d{0,17}$/;

const ID_RULE = 'must be an id: an integer, or a string of digits';

/** Accepts an id as a string or an integer, and returns a string. */
export const Id = v.pipe(
  v.union(
    [
      v.pipe(
        v.number(ID_RULE),
        v.integer(ID_RULE),
        v.minValue(1, ID_RULE),
        v.maxValue(Number.MAX_SAFE_INTEGER, ID_RULE),
      ),
      v.pipe(v.string(ID_RULE), v.regex(ID_SHAPE, ID_RULE)),
    ],
    ID_RULE,
  ),
  v.transform(String),
);

/** A lone surrogate has no UTF-8 encoding: two different texts would be stored as the same one. */
export const wellFormed = v.check(
  (text: string) => text.isWellFormed(),
  'must be valid Unicode, without lone surrogates',
);

/** One thing that is wrong with an input: where (dot path), and what is allowed. Never contains the value. */
export interface ValidationIssue {
  path: string;
  message: string;
}

/** Converts an issue of valibot, and replaces a message that would quote the input. */
export function toValidationIssue(issue: v.BaseIssue<unknown>): ValidationIssue {
  return { path: v.getDotPath(issue) ?? '', message: messageOf(issue) };
}

function messageOf(issue: v.BaseIssue<unknown>): string {
  const missing = issue.received === 'undefined';
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'is not a known field';
  if (missing && issue.kind === 'schema') return 'is required';
  // valibot's default messages quote the input. Ours say only what is allowed.
  return issue.message.startsWith('Invalid ') ? `must be ${issue.expected ?? 'valid'}` : issue.message;
}
