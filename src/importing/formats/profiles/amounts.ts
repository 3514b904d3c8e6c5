import { parseAmount, parseShortAmount } from '../money.ts';
import type { MinorUnits } from '../statement.ts';
import type { Cell } from './row.ts';

/** How a profile writes amounts. */
export interface AmountFormat {
  decimalSign: ',' | '.';
  /** What may stand before or after an amount, such as "TL". */
  currencyTexts: readonly string[];
}

/** A sign before or after the digits, or parentheses around them. Banks also write U+2212 for a minus. */
const SIGNED =
  /^(?:([-+\u2212])\s*([^-+\u2212()]+)|([^-+\u2212()]+?)\s*([-+\u2212])|\(\s*([^-+\u2212()]+?)\s*\)|([^-+\u2212()]+))$/;

/** Excel keeps 15 digits of a number. */
const EXCEL_DIGITS = 15;

/**
 * Creates a reader of amounts: "1.234,56", "-5,00", "5,00-", "(5,00)", "1 234,56". A separator of thousands is the sign that is not
 * the decimal one, a space or an apostrophe, and must stand before each three digits.
 * @returns hundredths, negative with a minus or in parentheses; null if the cell is no such amount.
 */
export function createAmountReader({ decimalSign, currencyTexts }: AmountFormat) {
  const decimal = decimalSign === '.' ? '\\.' : ',';
  const thousands = decimalSign === '.' ? ",' \u2019" : ".' \u2019";
  const digits = new RegExp(`^(\\d*|\\d{1,3}(?:([${thousands}])\\d{3})(?:\\2\\d{3})*)(?:${decimal}(\\d+))?$`);
  const currencies = currencyTexts
    .map((text) => text.toLowerCase())
    .sort((one, other) => other.length - one.length);

  /** How nearly all amounts are written, without a regular expression: digits and cents. @returns null for anything else. */
  const readDigits = (cell: string): MinorUnits | null => {
    const isNegative = cell.startsWith('-');
    const hundredths = parseShortAmount(isNegative ? cell.slice(1) : cell, decimalSign);
    if (hundredths === -1 || cell.endsWith(decimalSign)) return null;
    return BigInt(isNegative ? -hundredths : hundredths);
  };

  /** The same with thousands. Three decimals may be thousands after the other sign: "5,000" is not 5,00. */
  const other = decimalSign === '.' ? ',' : '.';
  const plain = new RegExp(`^(-?)(\\d+|\\d{1,3}(?:[${other}]\\d{3})+)(?:${decimal}(\\d{1,2}))?$`);
  const readPlain = ([, sign, whole = '', fraction = '']: RegExpExecArray): MinorUnits | null => {
    const digits = whole.includes(other) ? whole.replaceAll(other, '') : whole;
    const amount = parseAmount(digits + decimalSign + fraction, decimalSign);
    return amount !== null && sign === '-' ? -amount : amount;
  };

  const readText = (cell: string): MinorUnits | null => {
    const short = readDigits(cell);
    if (short !== null) return short;
    const simple = plain.exec(cell);
    if (simple !== null) return readPlain(simple);
    const match = SIGNED.exec(withoutCurrency(cell.replaceAll(/[\s\u00a0\u202f]+/g, ' ').trim(), currencies));
    if (match === null) return null;
    const [, before, afterSign, beforeSign, after, inParentheses, bare] = match;
    const number = digits.exec(
      withoutCurrency((afterSign ?? beforeSign ?? inParentheses ?? bare ?? '').trim(), currencies),
    );
    if (number === null) return null;
    const [, whole = '', , fraction = ''] = number;
    // Three digits may be thousands after the other decimal sign: "5,000" is not 5,00.
    if (fraction.length === 3) return null;
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
 * An amount in XLSX is a binary float, of which Excel shows 15 digits: 1067.9799999999999 is 1067.98. An amount of which more than 15
 * digits count is refused.
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
    if (lower.startsWith(currency)) return text.slice(currency.length).trim();
  }
  return text;
}
