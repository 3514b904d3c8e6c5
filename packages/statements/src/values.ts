/** @returns YYYY-MM-DD; null if the calendar has no such day */
export function calendarDate(year: number, month: number, day: number): string | null {
  if (year < 1900 || year > 2999 || month < 1 || month > 12 || day < 1 || day > lastDayOf(year, month))
    return null;
  return `${year}-${month < 10 ? '0' : ''}${month}-${day < 10 ? '0' : ''}${day}`;
}

/** The last day of a month of the Gregorian calendar. @param month from 1 to 12. */
export function lastDayOf(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

const DAY = 86_400_000;

/** @param day YYYY-MM-DD. @returns the day that is some days later, or earlier for a negative number. */
export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY).toISOString().slice(0, 10);

/** Whether a text without spaces has the general shape of an IBAN. Its check digits may be wrong. */
export const looksLikeIban = (text: string): boolean => /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text);

/**
 * Whether a text without spaces has the general shape of an IBAN and correct check digits (ISO 13616, modulo 97 of ISO 7064). The
 * length and format of each country are not checked.
 */
export function isIban(text: string): boolean {
  if (!looksLikeIban(text)) return false;
  const rearranged = text.slice(4) + text.slice(0, 4);
  const digits = rearranged.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return BigInt(digits) % 97n === 1n;
}

/** @returns the IBAN without spaces and in upper case; null if the text is not an IBAN */
export function readIban(text: string): string | null {
  const iban = text.slice(0, 100).replace(/\s/g, '').toUpperCase();
  return isIban(iban) ? iban : null;
}
