import type { MinorUnits } from './statement.ts';

/** The largest amount that DECIMAL(20,2) holds, in hundredths. */
const LARGEST = 10n ** 20n - 1n;

const AMOUNT = { ',': /^(\d*)(?:,(\d*))?$/, '.': /^(\d*)(?:\.(\d*))?$/ };

/** Whole numbers of up to 15 digits are exact as JavaScript numbers, which are several times as fast as BigInt. */
const EXACT_DIGITS = 15;
const ZERO = 0x30;

/**
 * Parses an amount without a sign and without thousands separators, such as "1234", "1234,5" or "1234.56".
 * @param decimalSign "," or ".". An amount may end with it, as in MT940 ("1234,").
 * @returns hundredths; null if the text is no such amount, is too large, or has a third fraction digit other than 0.
 */
export function parseAmount(text: string, decimalSign: ',' | '.'): MinorUnits | null {
  const hundredths = parseShortAmount(text, decimalSign);
  if (hundredths !== -1) return BigInt(hundredths);
  const match = AMOUNT[decimalSign].exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = ''] = match;
  if (whole + fraction === '') return null;
  if (fraction.length > 2 && /[^0]/.test(fraction.slice(2))) return null;
  const amount = BigInt(whole + fraction.slice(0, 2).padEnd(2, '0'));
  return amount > LARGEST ? null : amount;
}

/**
 * Reads an amount of up to 13 characters, with at most two digits after the decimal sign, as whole hundredths. @returns -1 for any
 * other text.
 */
export function parseShortAmount(text: string, decimalSign: ',' | '.'): number {
  const { length } = text;
  if (length === 0 || length > EXACT_DIGITS - 2) return -1;
  let number = 0;
  let signAt = length;
  for (let at = 0; at < length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit >= 0 && digit <= 9) number = number * 10 + digit;
    else if (text[at] === decimalSign && signAt === length && at > 0) signAt = at;
    else return -1;
  }
  const decimals = length - signAt - 1;
  if (decimals === 2) return number;
  if (decimals === 1) return number * 10;
  return decimals <= 0 ? number * 100 : -1;
}

/** Formats hundredths as a decimal with two fraction digits: -5n is "-0.05". */
export function formatAmount(amount: MinorUnits): string {
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(3, '0');
  return `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Reads an amount from `formatAmount` or from a DECIMAL(…, 2) column. */
export const parseHundredths = (amount: string): MinorUnits => BigInt(amount.replace('.', ''));

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
