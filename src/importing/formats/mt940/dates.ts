import { lastDayOf } from '../calendar-date.ts';
import { rememberLast } from '../remember-last.ts';

const DAY = 86_400_000;
const HALF_YEAR = 182;

export interface ReadDate {
  /** YYYY-MM-DD */
  date: string;
  /** False if the file names a day that the month does not have, such as 31 November. The date is then the month's last day. */
  exact: boolean;
}

/**
 * Reads YYMMDD. SWIFT reads the years 80 to 99 as 1980 to 1999, the others as 2000 to 2079. Some banks count 30 days in every month and
 * write 30 February, others write 31 November: a day up to 31 that the month does not have is read as its last day.
 * @returns null if it is no date
 */
export const readDate = rememberLast((text): ReadDate | null => {
  if (!/^\d{6}$/.test(text)) return null;
  const year = Number(text.slice(0, 2));
  return dateOf(year + (year >= 80 ? 1900 : 2000), text.slice(2));
});

/**
 * Reads an entry date, MMDD, which has no year: of the value date's year, the one before and the one after, that which brings it nearest
 * to the value date.
 * @param valueDate YYMMDD
 * @returns null if one of the two is no date
 */
export function readEntryDate(text: string, valueDate: string): ReadDate | null {
  const value = readDate(valueDate);
  if (value === null || !/^\d{4}$/.test(text)) return null;
  if (valueDate.endsWith(text)) return value;
  const year = Number(value.date.slice(0, 4));
  const distance = (to: ReadDate) => Math.abs(Date.parse(to.date) - Date.parse(value.date)) / DAY;
  const inSameYear = dateOf(year, text);
  if (inSameYear === null || distance(inSameYear) <= HALF_YEAR) return inSameYear;
  let nearest = inSameYear;
  for (const candidate of [dateOf(year - 1, text), dateOf(year + 1, text)])
    if (candidate !== null && distance(candidate) < distance(nearest)) nearest = candidate;
  return nearest;
}

function dateOf(year: number, monthAndDay: string): ReadDate | null {
  const month = Number(monthAndDay.slice(0, 2));
  const day = Number(monthAndDay.slice(2));
  if (month < 1 || month > 12 || day < 1 || day > 31) return null;
  const last = lastDayOf(year, month);
  const dayText = day <= last ? monthAndDay.slice(2) : String(last);
  return { date: `${year}-${monthAndDay.slice(0, 2)}-${dayText}`, exact: day <= last };
}
