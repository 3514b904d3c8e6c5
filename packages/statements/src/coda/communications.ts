import {
  keepKnown,
  readCreditorReference,
  readPaymentReference,
  readRate,
} from '../shared/payment-references.ts';
import { squeeze } from '../shared/text.ts';
import type { EntryDetails } from '../statement.ts';
import { hasBelgianCheck } from './accounts.ts';

/** What a communication says. Source: Febelfin, Coded statement of account (CODA), version 2.6, enclosure III. */

export interface Communication {
  text: string;
  details: EntryDetails | undefined;
}

/** Without a communication. */
const NOTHING: Communication = { text: '', details: undefined };

/**
 * Reads the communication of a movement, which may continue over the records 2.1 to 2.3.
 * @param type 1: structured, so that it begins with the three digits of its kind.
 */
export function readCommunication(type: string, all: string): Communication {
  if (type !== '1') return readFree(all);
  const kind = all.slice(0, 3);
  const body = all.slice(3);
  return STRUCTURED[kind]?.(body) ?? { text: squeeze(body), details: undefined };
}

/** A structured communication as customers write it into a free one. */
const WRITTEN = /^(?:\+\+\+|\*\*\*)\s?(\d{3})\/(\d{4})\/(\d{5})\s?(?:\+\+\+|\*\*\*)$/;

function readFree(all: string): Communication {
  const text = squeeze(all);
  const [, one, two, three] = WRITTEN.exec(text) ?? [];
  return { text, details: keepKnown<EntryDetails>({ creditorReference: ofDigits(`${one}${two}${three}`) }) };
}

/** @returns `+++123/4567/89012+++`; undefined if the twelve digits do not end with their check. */
const ofDigits = (digits: string): string | undefined =>
  hasBelgianCheck(digits)
    ? `+++${digits.slice(0, 3)}/${digits.slice(3, 7)}/${digits.slice(7)}+++`
    : undefined;

function readDigits(body: string): Communication {
  const reference = ofDigits(body.slice(0, 12));
  const text = reference === undefined ? squeeze(body) : squeeze(`${reference} ${body.slice(12)}`);
  return { text, details: keepKnown<EntryDetails>({ creditorReference: reference }) };
}

const STRUCTURED: Record<string, (body: string) => Communication> = {
  /** A creditor reference of ISO 11649. */
  '100': (body) => ({
    text: squeeze(body),
    details: keepKnown<EntryDetails>({ creditorReference: readCreditorReference(body.slice(0, 21)) }),
  }),
  '101': readDigits,
  '102': readDigits,
  /** The original amount of a payment in another currency. */
  '105': (body) => ({ text: '', details: readOriginal(body.slice(15, 45)) }),
  /** How a tax or a commission was calculated, and a closing: numbers. */
  '106': () => NOTHING,
  '108': () => NOTHING,
  /** A payment by card: its card, time, terminal and original amount. */
  '113': (body) => ({ text: squeeze(body.slice(40, 66)), details: readOriginal(body.slice(66, 96)) }),
  /** A direct debit: its day, kind and creditor, then its mandate, its text and the type of R-transaction. */
  '127': (body) => ({
    text: squeeze(body.slice(79, 141)),
    details: keepKnown<EntryDetails>({
      mandateReference: readPaymentReference(body.slice(44, 79)),
      isReversal: isReturn(body.slice(141, 142)),
    }),
  }),
};

/** Reject, return, refund, reversal or cancellation. */
export const isReturn = (type: string): true | undefined => (/^[1-5]$/.test(type) ? true : undefined);

/** Reads an amount of 15 digits with three decimals, a rate of 12 with eight, and a currency. */
function readOriginal(text: string): EntryDetails | undefined {
  const [, amount = '', units = '', decimals = '', currency] =
    /^(\d{15})(\d{4})(\d{8})([A-Z]{3})$/.exec(text) ?? [];
  if (currency === undefined || !/[1-9]/.test(amount)) return undefined;
  return keepKnown<EntryDetails>({
    originalAmount: BigInt(amount),
    originalCurrency: currency,
    exchangeRate: readRate(`${Number(units)}.${decimals}`),
  });
}

/**
 * Reads the communication of an information, which may continue over the records 3.1 to 3.3. Of the structured ones, the name of the
 * counterparty (001) and the communication of the bank (002) are taken.
 */
export function readInformation(type: string, all: string): { text: string; name: string } {
  if (type !== '1') return { text: squeeze(all), name: '' };
  const body = all.slice(3);
  if (all.startsWith('001')) return { text: '', name: squeeze(body.slice(0, 70)) };
  return { text: all.startsWith('002') ? squeeze(body) : '', name: '' };
}
