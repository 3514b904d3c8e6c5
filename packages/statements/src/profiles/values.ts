import { parseAmount, parseShortAmount } from '../amounts.ts';
import { rememberLast, squeeze } from '../shared/text.ts';
import type { MinorUnits } from '../statement.ts';
import { monthOf } from './months.ts';
import { type Cell, dayZero, textOf } from './row.ts';

/** How a profile writes amounts. */
interface AmountFormat {
  decimalSign: ',' | '.';
  /** Texts that may stand before or after an amount, such as "TL". */
  currencyTexts: readonly string[];
}

/** A sign before or after the digits, or parentheses around them. Banks also write U+2212 for a minus. */
const SIGNED =
  /^(?:([-+\u2212])([^-+\u2212()]+)|([^-+\u2212()]+)([-+\u2212])|\(([^-+\u2212()]+)\)|([^-+\u2212()]+))$/;

/** Dashes in place of cents: "5,-" is 5. */
const NO_CENTS = /(?<=\d)[.,][-\u2013\u2014]{1,2}$/;

/** A direction before or behind an amount, such as "2,000.00 Dr". */
const DIRECTION =
  /^(?:(d[rb]?|cr?)(?:\.? (?=\S)|\.?(?=[-+\u2212(\d.,]))|(.*[\d).,]|.*\S(?= )) ?\(?(d[rb]?|cr?)\)?\.?$)/i;

const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;

/** Finds the direction beside an amount, and what is left. @param text with single spaces. @returns null if there is none. */
function splitDirection(text: string): { isDebit: boolean; rest: string } | null {
  if (!/[a-z]\)?\.?$/i.test(text.slice(-3)) && !isLetter(text.charCodeAt(0))) return null;
  const match = DIRECTION.exec(text);
  if (match === null) return null;
  const [whole, before, amount, after] = match;
  return {
    isDebit: /^d/i.test(before ?? after ?? ''),
    rest: before === undefined ? (amount ?? '') : text.slice(whole.length),
  };
}

/** Whether a cell says with letters whether its amount is a debit or a credit. */
export const hasDirection = (cell: Cell | undefined): boolean =>
  typeof cell === 'string' && splitDirection(squeeze(cell)) !== null;

/** No amount is longer, with signs, blanks and a currency. */
const MOST_LENGTH = 200;

/** Excel keeps 15 digits of a number. */
const EXCEL_DIGITS = 15;

/**
 * Creates a reader of amounts: "1.234,56", "-5,00", "5,00-", "(5,00)", "1 234,56", "5,00 Dr". Thousands may be separated by a space, an
 * apostrophe, or the sign that is not the decimal sign. A separator must stand before each three digits; or, as in India, before the last
 * three digits and each two before them: "12,34,567.00". The first amount that tells the two apart decides for all.
 * @returns thousandths, negative with a minus, in parentheses or with "Dr"; null if the cell is no such amount.
 */
export function createAmountReader({ decimalSign, currencyTexts }: AmountFormat) {
  const decimal = decimalSign === '.' ? '\\.' : ',';
  const thousands = decimalSign === '.' ? ",' \u2019" : ".' \u2019";
  const digits = new RegExp(
    `^(?<whole>\\d*|\\d{1,3}(?:(?<sign>[${thousands}])\\d{3})(?:\\k<sign>\\d{3})*)(?:${decimal}(?<fraction>\\d+))?$`,
  );
  const indianDigits = /^(?<whole>\d{1,2}(?:,\d{2})+,\d{3})(?:\.(?<fraction>\d+))?$/;
  let isIndian: boolean | null = null;
  /** Whether groups of this form may stand in the file. */
  const mayGroup = (isOfIndia: boolean): boolean => {
    isIndian ??= isOfIndia;
    return isIndian === isOfIndia;
  };
  const readIndian = (number: string): RegExpExecArray | null => {
    const match = decimalSign === '.' ? indianDigits.exec(number) : null;
    return match !== null && mayGroup(true) ? match : null;
  };
  const currencies = currencyTexts
    .map((text) => text.toLowerCase())
    .sort((one, other) => other.length - one.length);

  /** Reads the form of nearly all amounts, digits and cents, without a regular expression. @returns null for other forms. */
  const readDigits = (cell: string): MinorUnits | null => {
    const isNegative = cell.startsWith('-');
    const thousandths = parseShortAmount(isNegative ? cell.slice(1) : cell, decimalSign);
    if (thousandths === -1 || cell.endsWith(decimalSign)) return null;
    return BigInt(isNegative ? -thousandths : thousandths);
  };

  /** Reads amounts with thousands. */
  const other = decimalSign === '.' ? ',' : '.';
  const plain = new RegExp(`^(-?)(\\d+|\\d{1,3}(?:[${other}]\\d{3})+)(?:${decimal}(\\d{1,3}))?$`);
  const readPlain = ([, sign, whole = '', fraction = '']: RegExpExecArray): MinorUnits | null => {
    const digits = whole.includes(other) ? whole.replaceAll(other, '') : whole;
    if (whole.length > digits.length + 1 && !mayGroup(false)) return null;
    const amount = parseAmount(digits + decimalSign + fraction, decimalSign);
    return amount !== null && sign === '-' ? -amount : amount;
  };

  const readText = (cell: string): MinorUnits | null => {
    if (cell.length > MOST_LENGTH) return null;
    const short = readDigits(cell);
    if (short !== null) return short;
    const simple = plain.exec(cell);
    if (simple !== null) return readPlain(simple);
    const text = cell.replaceAll(/[\s\u00a0\u202f]+/g, ' ').trim();
    const direction = splitDirection(text);
    if (direction === null) return readSigned(text);
    const amount = readSigned(direction.rest);
    if (amount === null || (amount < 0n && !direction.isDebit)) return null;
    return direction.isDebit && amount > 0n ? -amount : amount;
  };

  const readSigned = (text: string): MinorUnits | null => {
    const match = SIGNED.exec(withoutCurrency(text, currencies).replace(NO_CENTS, ''));
    if (match === null) return null;
    const [, before, afterSign, beforeSign, after, inParentheses, bare] = match;
    const unsigned = withoutCurrency(
      (afterSign ?? beforeSign ?? inParentheses ?? bare ?? '').trim(),
      currencies,
    );
    const number = digits.exec(unsigned) ?? readIndian(unsigned);
    if (number === null) return null;
    const { whole = '', fraction = '' } = number.groups ?? {};
    const amount = parseAmount(`${whole.replaceAll(/\D/g, '')}${decimalSign}${fraction}`, decimalSign);
    if (amount === null || whole + fraction === '') return null;
    const isNegative = inParentheses !== undefined || /[-\u2212]/.test(before ?? after ?? '');
    return isNegative ? -amount : amount;
  };

  return (cell: Cell | undefined): MinorUnits | null => {
    if (cell === undefined) return null;
    return typeof cell === 'string' ? readText(cell) : readNumber(cell.number);
  };
}

/**
 * Creates a function that tells whether an amount is written with three digits after the decimal sign. If they are no decimals of its
 * currency, they may be thousands after the other sign.
 * @param threeDecimals the file has shown that they are decimals.
 */
export function createThousandsTest({
  decimalSign,
  threeDecimals = false,
}: Pick<AmountFormat, 'decimalSign'> & { threeDecimals?: boolean }) {
  if (threeDecimals) return () => false;
  const pattern = new RegExp(`[${decimalSign}]\\d{3}\\D*$`);
  return (cell: Cell | undefined): boolean =>
    typeof cell === 'string' &&
    (cell.at(-4) === decimalSign || !isDigit(cell.charCodeAt(cell.length - 1))) &&
    pattern.test(cell);
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

const DASHES = /^[-\u2010-\u2015\u2212]+$/;

/** Whether a cell says that there is no amount. Banks leave it empty, or write dashes. */
export function hasNoAmount(cell: Cell | undefined): boolean {
  const text = textOf(cell);
  return text === '' || DASHES.test(text);
}

/**
 * An amount in XLSX is a binary float, of which Excel shows 15 digits: 1067.9799999999999 is 1067.98. An amount with more than 15
 * significant digits is refused.
 */
function readNumber(number: string): MinorUnits | null {
  const rounded = Number(number).toPrecision(EXCEL_DIGITS);
  if (!/^-?\d+(\.\d+)?$/.test(rounded)) return null;
  const amount = parseAmount(rounded.replace('-', ''), '.');
  return amount !== null && rounded.startsWith('-') ? -amount : amount;
}

function withoutCurrency(text: string, currencies: readonly string[]): string {
  if (/^[-+]?[\d.,]+$/.test(text)) return text;
  const lower = text.toLowerCase();
  for (const currency of currencies) {
    if (lower.endsWith(currency)) return text.slice(0, -currency.length).trim();
    if (lower.startsWith(currency)) {
      const rest = text.slice(currency.length);
      // A point after an abbreviation: "Rs.500.00", and not "Rs.50", which could be two amounts.
      if (!rest.startsWith('.')) return rest.trim();
      return /^\.\d.*[.,]/.test(rest) ? rest.slice(1) : text;
    }
  }
  return text;
}

/** The date formats that a profile can name. One or two digits are read for DD and MM if something separates them. */
export const DATE_FORMATS = [
  'DD.MM.YYYY',
  'DD.MM.YY',
  'DD/MM/YYYY',
  'DD/MM/YY',
  'DD-MM-YYYY',
  'DD-MM-YY',
  'DD MMM YYYY',
  'DD MMM YY',
  'DD-MMM-YYYY',
  'DD-MMM-YY',
  'DD/MMM/YYYY',
  'DDMMYYYY',
  'MM/DD/YYYY',
  'MM/DD/YY',
  'MM-DD-YYYY',
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'YYYY.MM.DD',
  'YYYYMMDD',
] as const;

export type DateFormat = (typeof DATE_FORMATS)[number];

const FIRST_YEAR = 1900;
const LAST_YEAR = 2099;

/** A time after the date, with or without a zone. It is ignored, because the bank's day counts and must not shift. */
const TIME =
  /^[.,]?(?:[\sT-]+\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?\s*(?:[AP]M|[A-Z]{3,4}|Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

const MILLISECONDS_PER_DAY = 86_400_000;

/**
 * Creates a reader of dates.
 * @param country ISO 3166-1, whose names of months count first.
 * @returns YYYY-MM-DD; null if the cell is not a date of these formats from 1900 to 2099.
 */
export function createDateReader(
  formats: readonly DateFormat[],
  country?: string,
): (cell: Cell | undefined) => string | null {
  const readers = formats.map((format) => createTextReader(format, country));
  const readText = rememberLast((text) =>
    text.length > MOST_LENGTH
      ? null
      : readers.reduce<string | null>((date, read) => date ?? read(text), null),
  );
  return (cell) =>
    cell !== undefined && typeof cell !== 'string'
      ? (readDayNumber(Number(cell.number), cell.epoch) ?? readText(textOf(cell)))
      : readText(textOf(cell));
}

function createTextReader(format: DateFormat, country: string | undefined): (text: string) => string | null {
  const [separator = ''] = /[^DMY]/.exec(format) ?? [];
  const order = separator === '' ? (format.match(/D+|M+|Y+/g) ?? []) : format.split(separator);
  const groups = order.map((part) => {
    if (part === 'MMM') return '(\\p{L}{2,12}\\.?)';
    if (part === 'DD' && order.includes('MMM')) return '(\\d{1,2})(?:er|\\.)?';
    if (part.startsWith('Y')) return `(\\d{${part.length}})`;
    return separator === '' ? '(\\d{2})' : '(\\d{1,2})';
  });
  const pattern = new RegExp(`^${groups.join(separator === '.' ? '\\.' : separator)}(?!\\d)`, 'u');
  const at = (letter: string) => 1 + order.findIndex((part) => part.startsWith(letter));
  const [day, month, year] = [at('D'), at('M'), at('Y')];
  return (text) => {
    const match = pattern.exec(text);
    if (match === null || !TIME.test(text.slice(match[0].length))) return null;
    return toDate(readYear(match[year] ?? ''), readMonth(match[month] ?? '', country), Number(match[day]));
  };
}

/** Two digits are a year from 1980 to 2079. */
function readYear(text: string): number {
  const year = Number(text);
  if (text.length !== 2) return year;
  return year < 80 ? 2000 + year : 1900 + year;
}

const readMonth = (text: string, country: string | undefined): number =>
  /^\d/.test(text) ? Number(text) : (monthOf(text, country) ?? 0);

function toDate(year: number, month: number, day: number): string | null {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal && year >= FIRST_YEAR && year <= LAST_YEAR ? date.toISOString().slice(0, 10) : null;
}

/**
 * A date in XLSX is the number of days since 1899-12-30, or since 1904-01-01 (ECMA-376, part 1, section 18.17.4.1).
 * @returns null if that day is not from 1950 to 2099. 20260131, for example, is not a number of days.
 */
function readDayNumber(days: number, epoch: 1900 | 1904): string | null {
  const time = dayZero(epoch) + Math.floor(days) * MILLISECONDS_PER_DAY;
  if (!(time >= Date.UTC(1950, 0, 1) && time < Date.UTC(LAST_YEAR + 1, 0, 1))) return null;
  return new Date(time).toISOString().slice(0, 10);
}
