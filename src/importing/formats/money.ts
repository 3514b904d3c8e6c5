import type { MinorUnits } from './statement.ts';

/** The largest amount that DECIMAL(20,2) holds, in hundredths. */
const LARGEST = 10n ** 20n - 1n;

/**
 * Parses an amount without a sign and without thousands separators, such as "1234", "1234,5" or "1234.56".
 * @param decimalSign "," or ".". An amount may end with it, as in MT940 ("1234,").
 * @returns hundredths; null if the text is no such amount, is too large, or has a third fraction digit other than 0.
 */
export function parseAmount(text: string, decimalSign: ',' | '.'): MinorUnits | null {
  const [whole = '', fraction = '', ...more] = text.split(decimalSign);
  if (more.length > 0 || !/^\d*$/.test(whole) || !/^\d*$/.test(fraction) || whole + fraction === '')
    return null;
  if (/[^0]/.test(fraction.slice(2))) return null;
  const amount = BigInt(whole) * 100n + BigInt(fraction.slice(0, 2).padEnd(2, '0'));
  return amount > LARGEST ? null : amount;
}

/** Formats hundredths as a decimal with two fraction digits: -5n is "-0.05". */
export function formatAmount(amount: MinorUnits): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(3, '0');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
