import { parseAmount } from '../money.ts';
import type { MinorUnits } from '../statement.ts';

/**
 * Decimals of the currencies that do not have two (ISO 4217, list one). The BAI2 specification of 2005 has a list of its own, in which
 * the euro has none in some countries. Banks follow ISO 4217.
 */
const DECIMALS = new Map<string, number>([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'
    .split(' ')
    .map((currency): [string, number] => [currency, 0]),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((currency): [string, number] => [currency, 3]),
  ['CLF', 4],
  ['UYW', 4],
]);

export const decimalsOf = (currency: string): number => DECIMALS.get(currency) ?? 2;

/** @returns the digits of an amount as they stand, for control totals; null if it is no whole number */
export function parseDigits(text: string): bigint | null {
  const [, sign, digits] = /^([+-]?)(\d{1,40})$/.exec(text) ?? [];
  if (digits === undefined) return null;
  return sign === '-' ? -BigInt(digits) : BigInt(digits);
}

/**
 * Reads an amount of a currency whose decimals are implied: "1234" is 12.34 USD, 1234 JPY or 1.234 KWD.
 * @returns hundredths; null if it is no whole number, or does not fit in hundredths (1.234 KWD)
 */
export function parseImplied(text: string, currency: string): MinorUnits | null {
  const digits = parseDigits(text);
  if (digits === null) return null;
  const decimals = decimalsOf(currency);
  const plain = (digits < 0n ? -digits : digits).toString().padStart(decimals + 1, '0');
  const whole = plain.slice(0, plain.length - decimals);
  const amount = parseAmount(`${whole}.${plain.slice(plain.length - decimals)}`, '.');
  return amount !== null && digits < 0n ? -amount : amount;
}
