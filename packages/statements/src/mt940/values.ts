import { parseAmount } from '../amounts.ts';
import { quote, rememberLast } from '../shared/text.ts';
import type { AccountReference, Balance, MinorUnits } from '../statement.ts';
import { isIban, lastDayOf, looksLikeIban } from '../values.ts';

const DAY = 86_400_000;
const HALF_YEAR = 182;

export interface ReadDate {
  /** YYYY-MM-DD */
  date: string;
  /** False if the file names a day that the month does not have, such as 31 November. The date is then the month's last day. */
  exact: boolean;
}

/**
 * Reads YYMMDD. SWIFT reads the years 80 to 99 as 1980 to 1999, and the others as 2000 to 2079. Some banks count 30 days in every
 * month and write 30 February. Others write 31 November. So a day up to 31 that the month does not have is read as the month's last
 * day.
 * @returns null if it is no date
 */
export const readDate = rememberLast((text): ReadDate | null => {
  if (!/^\d{6}$/.test(text)) return null;
  const year = Number(text.slice(0, 2));
  return dateOf(year + (year >= 80 ? 1900 : 2000), text.slice(2));
});

/**
 * Reads an entry date, MMDD, which has no year. Tries the value date's year, the previous and the next year, and takes the date
 * that is nearest to the value date.
 * @param valueDate YYMMDD
 * @returns null if one of the two is not a date
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

/** The end of messages about amounts that cannot be read. */
export const ALLOWED_AMOUNT = 'an amount such as 1234,56 or 1234, is allowed';

/**
 * Reads an amount of SWIFT: digits, a comma, and the fraction digits of its currency. Some banks leave the comma out ("500"), or write a point
 * before two fraction digits ("1211771.46") or at the end ("348000."). Other forms are refused, because "1.234" may mean one or a
 * thousand.
 * @returns thousandths; null if it is not such an amount
 */
export function readAmount(text: string): MinorUnits | null {
  if (!text.includes('.')) return parseAmount(text, ',');
  return /^\d+\.(?:\d\d)?$/.test(text) ? parseAmount(text, '.') : null;
}

/** C or D, the date, the currency, the amount. An envelope may end on the same line. */
const BALANCE = /^([CD])(\d{6})([A-Z]{3})?\s*([\d.,]+)\s*(?:-.*)?$/s;

interface ReadBalance {
  balance: Balance | null;
  /** ISO 4217; null if it is missing. */
  currency: string | null;
  /** Its error. */
  warning: string | null;
}

/**
 * Reads :60F:, :60M:, :62F: or :62M:.
 * @param name for the warning, such as ":62F:"
 */
export function readBalance(text: string, name: string): ReadBalance {
  const [, sign, day = '', currency = null, amountText = ''] = BALANCE.exec(text.trim()) ?? [];
  const amount = readAmount(amountText);
  if (sign === undefined || amount === null) {
    const allowed = 'C or D, YYMMDD, a currency and an amount such as 1234,56 are allowed';
    return {
      balance: null,
      currency: null,
      warning: `${name} is ${quote(text)}: ${sign ? ALLOWED_AMOUNT : allowed}`,
    };
  }
  const date = readDate(day);
  return {
    balance: { amount: sign === 'D' ? -amount : amount, date: date?.date ?? null },
    currency,
    warning: date?.exact
      ? null
      : `${name} has the date ${quote(day)}, which does not exist: a date of the calendar, YYMMDD, is allowed`,
  };
}

/** Characters of the shortest text that looks like an IBAN. */
const SHORTEST = 15;

/**
 * Without spaces, in upper case; null if the text does not look like an IBAN. Does not check the check digits, because banks also
 * send IBANs with wrong ones.
 */
export function readIban(text: string): string | null {
  if (text.length < SHORTEST) return null;
  if (looksLikeIban(text)) return text;
  const iban = text.slice(0, 100).replace(/\s/g, '').toUpperCase();
  return looksLikeIban(iban) ? iban : null;
}

export const NO_ACCOUNT: AccountReference = { iban: null, number: null, currency: null, bank: null };

const CURRENCY_SUFFIX = /\d ?([A-Z]{3})$/;

/**
 * Reads :25: or :25P:. It contains an IBAN or a number, often with the bank's code or BIC before it and the currency after it
 * ("12345678/0011223344EUR", "ABCDTRIS/12345/TRY"). In :25P:, the BIC is on a line of its own.
 */
export function readAccount(lines: readonly string[]): AccountReference {
  const [text = '', bic = ''] = lines.map((line) => line.trim());
  const parts = text.replace(/^\/+/, '').split('/');
  const last = parts.at(-1) ?? '';
  const ownCurrency = parts.length > 1 && /^[A-Z]{3}$/.test(last) ? last : null;
  if (ownCurrency !== null) parts.pop();
  const account = parts.pop() ?? '';
  const { number, currency } = splitCurrency(account);
  const iban = number.replace(/\s/g, '').toUpperCase();
  const hasIban = looksLikeIban(iban);
  return {
    iban: hasIban ? iban : null,
    number: hasIban || number === '' ? null : number,
    currency: ownCurrency ?? currency,
    bank: parts.join('/') || bic || null,
  };
}

/** Splits off a currency. An IBAN may itself end with three letters, which its check digits show. */
function splitCurrency(text: string): { number: string; currency: string | null } {
  const currency = CURRENCY_SUFFIX.exec(text)?.[1];
  if (currency === undefined || isIban(text.replace(/\s/g, ''))) return { number: text, currency: null };
  return { number: text.slice(0, -3).trim(), currency };
}
