import { isCalendarDate } from './validation.ts';
import { parseOffset, type ZoneOffset } from './zone-offset.ts';

const MINUTE = 60_000;

/** A space before the offset is a "+" that was pasted into a URL unescaped. */
const SHAPE = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,6})?\s?([ +-]\d{2}(?::?\d{2})?|Z)?$/;

/**
 * Reads `YYYY-MM-DD HH:mm:ss` with an optional offset ("+03", "+03:00", "Z"), else in the service's own zone; `date_readed`
 * pasted back from an answer is understood as it is. Fractions of a second are dropped: "after" is inclusive.
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
  // Offsets may move the first and last days of the calendar out of MySQL's range.
  return /^[1-9]\d{3}-/.test(written) ? written.slice(0, 19).replace('T', ' ') : null;
}

function tryParseOffset(text: string): ZoneOffset | null {
  try {
    return parseOffset(text);
  } catch {
    return null;
  }
}

/** A moment as the API shows it: `2019-10-24 18:39:16+03`. */
export function formatMoment(moment: Date, zone: ZoneOffset): string {
  const local = new Date(moment.getTime() + zone.minutes * MINUTE).toISOString();
  return local.slice(0, 19).replace('T', ' ') + zone.text;
}
