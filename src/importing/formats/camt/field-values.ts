import { parseAmount } from '../money.ts';
import { rememberLast } from '../remember-last.ts';
import type { MinorUnits } from '../statement.ts';

/** Parses an amount of a message in hundredths. It has no sign: CdtDbtInd tells the direction. */
export const readAmount = (text: string): MinorUnits | null => parseAmount(text, '.');

/** Parses CdtDbtInd. */
export function readDirection(text: string | undefined): 'Debit' | 'Credit' | null {
  if (text === 'CRDT') return 'Credit';
  return text === 'DBIT' ? 'Debit' : null;
}

/**
 * Parses an xs:date or xs:dateTime.
 * @returns the date as it stands there, whatever the time and its zone; null if it is no date, or not in the calendar.
 */
export const readDate = rememberLast((text): string | null => {
  const date = /^(\d{4}-\d{2}-\d{2})(?:T[\d:.]+)?(?:Z|[+-]\d{2}:?\d{2})?$/.exec(text)?.[1];
  if (date === undefined) return null;
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  // Date.UTC takes 31 November for 1 December.
  const parsed = new Date(Date.UTC(year, month - 1, day));
  return parsed.getUTCMonth() === month - 1 && parsed.getUTCDate() === day ? date : null;
});

export const isCurrency = (text: string): boolean => /^[A-Z]{3}$/.test(text);

/** Shows what was found, cut to 40 characters. */
export function show(text: string): string {
  const characters = Array.from(text.slice(0, 100));
  return characters.length > 40 ? `"${characters.slice(0, 40).join('')}…"` : `"${text}"`;
}
