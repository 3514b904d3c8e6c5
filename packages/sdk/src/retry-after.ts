const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The three forms of a date in HTTP (RFC 9110, section 5.6.7): IMF-fixdate, RFC 850, and asctime. All are in UTC. */
const IMF_FIXDATE = /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const RFC_850 = /^[A-Z][a-z]+day, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;

/**
 * Reads a `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3).
 * @param now milliseconds since 1970, for a date.
 * @returns milliseconds, not negative and at most 2^53 - 1. null: there is none, or it is neither.
 */
export function parseRetryAfter(header: string | null | undefined, now: number): number | null {
  const text = (header ?? '').trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, Number.MAX_SAFE_INTEGER);
  const date = parseHttpDate(text, now);
  return date === null ? null : Math.max(0, date - now);
}

function parseHttpDate(text: string, now: number): number | null {
  const fixed = IMF_FIXDATE.exec(text);
  if (fixed !== null) {
    const [, day, month, year, ...time] = fixed;
    return toTime(Number(year), month, day, time);
  }
  const old = RFC_850.exec(text);
  if (old !== null) {
    const [, day, month, digits, ...time] = old;
    // A year that seems to be more than 50 years ahead is the last one with these digits.
    const thisYear = new Date(now).getUTCFullYear();
    const year = Math.floor(thisYear / 100) * 100 + Number(digits);
    return toTime(year > thisYear + 50 ? year - 100 : year, month, day, time);
  }
  const asc = ASCTIME.exec(text);
  if (asc === null) return null;
  const [, month, day, hours, minutes, seconds, year] = asc;
  return toTime(Number(year), month, day, [hours, minutes, seconds]);
}

function toTime(
  year: number,
  month: string | undefined,
  day: string | undefined,
  [hours, minutes, seconds]: readonly (string | undefined)[],
): number | null {
  const number = MONTHS.indexOf(month ?? '');
  const [days, h, m, s] = [day, hours, minutes, seconds].map(Number) as [number, number, number, number];
  const isTime = number !== -1 && days >= 1 && days <= 31 && h < 24 && m < 60 && s <= 60;
  return isTime ? Date.UTC(year, number, days, h, m, s) : null;
}

/** @returns the seconds that a response asks to wait before the next attempt; null, if it asks for none. */
export function retryAfter({ headers }: Response): number | null {
  const milliseconds = parseRetryAfter(headers.get('Retry-After'), Date.now());
  return milliseconds === null ? null : Math.ceil(milliseconds / 1_000);
}
