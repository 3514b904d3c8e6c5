import { parseAmount } from '../money.ts';
import type { MinorUnits } from '../statement.ts';

/** What messages say about amounts that cannot be read. */
export const ALLOWED_AMOUNT = 'an amount such as 1234,56 or 1234, is allowed';

/**
 * Reads an amount of SWIFT: digits, a comma, up to two fraction digits. Some banks leave the comma out ("500") or write a point before
 * two fraction digits ("1211771.46"). Nothing else is read, since "1.234" may be one or a thousand.
 * @returns hundredths; null if it is no such amount
 */
export function readAmount(text: string): MinorUnits | null {
  if (!text.includes('.')) return parseAmount(text, ',');
  return /^\d+\.\d\d$/.test(text) ? parseAmount(text, '.') : null;
}
