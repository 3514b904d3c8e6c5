import * as v from 'valibot';
import { CALENDAR_DATE, documented } from './validation.ts';

/** Parses and writes moments, with the offset of a time zone. */

const MINUTE = 60_000;

/** A moment as a regular expression. The offset may begin with a space, because an unescaped "+" in a URL is decoded as one. */
export const MOMENT = [
  `^(${CALENDAR_DATE})[ T]([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\\.[0-9]{1,6})?`,
  ' ?([ +-](?:0[0-9]|1[0-3])(?::?[0-5][0-9])?|[ +-]14(?::?00)?|Z)?$',
].join('');

const SHAPE = new RegExp(MOMENT);

/** The first and the last moment that MySQL can store and compute with. */
const FIRST = Date.UTC(1000, 0, 1);
const LAST = Date.UTC(9999, 11, 30);

const MOMENT_RULE =
  'must be a date and time that exist, written YYYY-MM-DD HH:mm:ss, with an offset such as +03 if it is not that of the service';

/**
 * Parses `YYYY-MM-DD HH:mm:ss` with an optional offset ("+03", "+03:00", "Z"). Without an offset `zone` applies. A `date_readed` is
 * accepted exactly as the API returns it. Fractions of a second are dropped, which loses no movements because `after` is inclusive.
 * A moment outside of MySQL's range becomes the first or the last moment that MySQL can store.
 * @returns the moment in UTC as MySQL writes it, or null when there is no such moment.
 */
export function parseMoment(text: string, zone: ZoneOffset): string | null {
  const [, date, hours, minutes, seconds, offsetText] = SHAPE.exec(text) ?? [];
  if (date === undefined) return null;
  const offset = offsetText === undefined ? zone : parseOffset(offsetText.replace(' ', '+'));
  const utc = Date.parse(`${date}T${hours}:${minutes}:${seconds}Z`) - offset.minutes * MINUTE;
  const stored = Math.min(Math.max(utc, FIRST), LAST);
  return new Date(stored).toISOString().slice(0, 19).replace('T', ' ');
}

/** Accepts a moment in a request, and returns it in UTC as `parseMoment` does. */
export const Moment = (zone: ZoneOffset) =>
  v.pipe(
    v.string(MOMENT_RULE),
    documented({ pattern: MOMENT, examples: ['2025-11-30 12:00:00+03'] }),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const moment = parseMoment(dataset.value, zone);
      if (moment !== null) return moment;
      addIssue({ message: MOMENT_RULE });
      return NEVER;
    }),
  );

/** Formats a moment as the API returns it: `2019-10-24 18:39:16+03`. */
export function formatMoment(moment: Date, zone: ZoneOffset): string {
  const local = new Date(moment.getTime() + zone.minutes * MINUTE).toISOString();
  return local.slice(0, 19).replace('T', ' ') + zone.text;
}

/** A fixed distance from UTC, as TIME_ZONE_OFFSET sets it. */
export interface ZoneOffset {
  /** As written after a time: "+03", "-03:30". */
  text: string;
  minutes: number;
}

const OFFSET_SHAPE = /^([+-])(\d{2})(?::?(\d{2}))?$/;

/**
 * Parses "+03", "+03:00", "+0530" or "Z".
 * @throws {Error} that says what is allowed.
 */
export function parseOffset(text: string): ZoneOffset {
  if (text === 'Z') return { text: '+00', minutes: 0 };
  const [, sign, hours = '', minutes = '00'] = OFFSET_SHAPE.exec(text) ?? [];
  const total = Number(hours) * 60 + Number(minutes);
  // Offsets in use range from -12:00 to +14:00 (IANA tz database).
  if (sign === undefined || Number(minutes) > 59 || total > 14 * 60) {
    throw new Error('must be an offset from UTC such as +03 or -03:30, at most 14 hours');
  }
  return {
    text: minutes === '00' ? `${sign}${hours}` : `${sign}${hours}:${minutes}`,
    minutes: sign === '-' ? -total : total,
  };
}
