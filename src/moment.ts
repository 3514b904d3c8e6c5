import * as v from 'valibot';
import { isCalendarDate } from './validation.ts';
import { parseOffset, type ZoneOffset } from './zone-offset.ts';

const MINUTE = 60_000;

/** The offset may begin with a space, because an unescaped "+" in a URL is decoded as one. */
const SHAPE = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,6})?\s?([ +-]\d{2}(?::?\d{2})?|Z)?$/;

const MOMENT_RULE =
  'must be a moment that exists, written YYYY-MM-DD HH:mm:ss, with an offset such as +03 if it is not the service’s';

/**
 * Parses `YYYY-MM-DD HH:mm:ss` with an optional offset ("+03", "+03:00", "Z"). Without an offset `zone` applies. A `date_readed`
 * is accepted exactly as the API returns it. Fractions of a second are dropped, which loses no movements because `after` is
 * inclusive.
 * @returns the moment in UTC as MySQL writes it, or null when there is no such moment.
 */
export function parseMoment(text: string, zone: ZoneOffset): string | null {
  const [, date, hours, minutes, seconds, offsetText] = SHAPE.exec(text) ?? [];
  if (date === undefined || !isCalendarDate(date)) return null;
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return null;
  const offset = offsetText === undefined ? zone : tryParseOffset(offsetText.replace(' ', '+'));
  if (offset === null) return null;
  const utc = Date.parse(`${date}T${hours}:${minutes}:${seconds}Z`) - offset.minutes * MINUTE;
  const written = new Date(utc).toISOString();
  // An offset can move the first and last days of the calendar out of MySQL's range.
  return /^[1-9]\d{3}-/.test(written) ? written.slice(0, 19).replace('T', ' ') : null;
}

/** Accepts a moment in a request, and returns it in UTC as `parseMoment` does. */
export const Moment = (zone: ZoneOffset) =>
  v.pipe(
    v.string(MOMENT_RULE),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const moment = parseMoment(dataset.value, zone);
      if (moment !== null) return moment;
      addIssue({ message: MOMENT_RULE });
      return NEVER;
    }),
  );

function tryParseOffset(text: string): ZoneOffset | null {
  try {
    return parseOffset(text);
  } catch {
    return null;
  }
}

/** Formats a moment as the API returns it: `2019-10-24 18:39:16+03`. */
export function formatMoment(moment: Date, zone: ZoneOffset): string {
  const local = new Date(moment.getTime() + zone.minutes * MINUTE).toISOString();
  return local.slice(0, 19).replace('T', ' ') + zone.text;
}
