import type { Fields } from './element-paths.ts';
import { isCurrency, readAmount, readDate, readDirection, show } from './field-values.ts';

/** Says why an entry cannot be read. */
export class Unreadable extends Error {
  constructor(
    readonly path: string,
    message: string,
  ) {
    super(message);
  }
}

export function readEntryAmount({ amount: text }: Fields): bigint {
  const rule = 'allowed is a number with a point and at most two decimals, such as 1250.00';
  if (text === undefined) throw new Unreadable('Ntry/Amt', `the amount is missing; ${rule}`);
  const amount = readAmount(text);
  if (amount === null) throw new Unreadable('Ntry/Amt', `found ${show(text)}; ${rule}`);
  return amount;
}

export function readEntryDirection({ dc: text }: Fields): 'Debit' | 'Credit' {
  const dc = readDirection(text);
  if (dc === null)
    throw new Unreadable('Ntry/CdtDbtInd', `found ${show(text ?? '')}; allowed are CRDT and DBIT`);
  return dc;
}

export function readCurrency(fields: Fields): string | null {
  const currency = fields.currency ?? null;
  if (currency !== null && !isCurrency(currency))
    throw new Unreadable(
      'Ntry/Amt/@Ccy',
      `found ${show(currency)}; allowed is a code of three capital letters, such as EUR`,
    );
  return currency;
}

/** A camt.053 reports booked entries only, so an entry without a status is booked there. */
export function readStatus(
  { status: text }: Fields,
  kind: 'final' | 'interim',
  warn: (message: string) => void,
): 'booked' | 'pending' {
  if (text === 'BOOK') return 'booked';
  if (text === 'PDNG' || text === 'INFO' || text === 'FUTR') return 'pending';
  if (text !== undefined || kind === 'interim')
    throw new Unreadable('Ntry/Sts', `found ${show(text ?? '')}; allowed are BOOK, PDNG, INFO and FUTR`);
  warn('The entry has no status (Sts). It counts as booked, because a camt.053 has booked entries only.');
  return 'booked';
}

/** @returns null for a pending entry without a date, which banks may leave out before it is booked. */
export function readBookingDate(
  { date, valueDate }: Fields,
  status: 'booked' | 'pending',
  warn: (message: string) => void,
): string | null {
  const text = date ?? valueDate;
  if (text === undefined && status === 'pending') {
    warn('A pending entry has no date and is not read.');
    return null;
  }
  if (text === undefined)
    throw new Unreadable('Ntry/BookgDt', 'the booking date (BookgDt) and the value date (ValDt) are missing');
  const read = readDate(text);
  if (read === null)
    throw new Unreadable(
      date === undefined ? 'Ntry/ValDt' : 'Ntry/BookgDt',
      `found ${show(text)}; allowed is a date of the calendar, such as 2026-01-15`,
    );
  if (date === undefined && status === 'booked')
    warn('The entry has no booking date (BookgDt). Its value date (ValDt) is used instead.');
  return read;
}

/** Texts that banks write into a mandatory reference that they do not have. */
const NO_REFERENCE = /^(NOTPROVIDED|NONREF|NOREF)$/i;

export function readReference({ reference }: Fields): string | null {
  return reference === undefined || NO_REFERENCE.test(reference) ? null : reference;
}
