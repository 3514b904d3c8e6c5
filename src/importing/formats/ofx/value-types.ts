import { calendarDate } from '../calendar-date.ts';
import { parseAmount } from '../money.ts';
import type { MinorUnits } from '../statement.ts';

/** Up to 17 digits: year to milliseconds. A time or a zone may follow. Neither moves the date. */
const DATE =
  /^(\d{4})(-?)(\d{2})\2(\d{2})(?:[T ]?(?:\d{2}:?){0,3}(?:[.:,]\d{1,6})?\s*(?:\[[^\]]*\]?|Z|[+-]\d{2}:?\d{2})?)$/;

/**
 * Reads the date of `20260301120000.000[-5:EST]` as it stands: 2026-03-01.
 * @returns YYYY-MM-DD; null if it is no date
 */
export function parseDate(text: string): string | null {
  const match = DATE.exec(text);
  if (match === null) return null;
  const [, year, , month, day] = match;
  return calendarDate(Number(year), Number(month), Number(day));
}

const SIGNED = /^([+\-\u2212]?)\s*([\d.,\s]+?)\s*([+-]?)$/;

/**
 * Reads a signed amount. The decimal sign is "." or "," (OFX 2.2, 3.2.9.2). OFX allows no thousands separators, but some banks write
 * them: "1,234.56" and "1 234,56" are read, since they can mean one thing only. "1,234" is refused, since it can mean two.
 * @returns hundredths; null if the text is no such amount, or has more than two decimals that are not 0
 */
export function parseSignedAmount(text: string): MinorUnits | null {
  const [, before = '', number = '', after = ''] = SIGNED.exec(text.slice(0, 100)) ?? [];
  if (before !== '' && after !== '') return null;
  const amount = parseUnsigned(number);
  if (amount === null) return null;
  return before + after === '-' || before === '\u2212' ? -amount : amount;
}

function parseUnsigned(number: string): MinorUnits | null {
  if (/^\d*\.?\d*$/.test(number)) return parseAmount(number, '.');
  if (/^\d+,\d{3}$/.test(number)) return null;
  if (/^\d*,\d*$/.test(number)) return parseAmount(number, ',');
  const [, whole, decimalSign, fraction = ''] =
    /^(\d{1,3}(?:,\d{3})+)(\.)(\d*)$/.exec(number) ??
    /^(\d{1,3}(?:\.\d{3})+)(,)(\d*)$/.exec(number) ??
    /^(\d{1,3}(?:\s\d{3})+)(?:([.,])(\d*))?$/.exec(number) ??
    [];
  if (whole === undefined) return null;
  if (/^\s/.test(whole.replace(/\d/g, '')) && decimalSign === ',' && fraction.length === 3) return null;
  return parseAmount(`${whole.replace(/\D/g, '')}.${fraction}`, '.');
}
