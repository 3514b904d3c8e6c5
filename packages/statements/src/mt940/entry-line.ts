import { quote } from '../shared/text.ts';
import type { Entry } from '../statement.ts';
import { ALLOWED_AMOUNT, type ReadDate, readAmount, readDate, readEntryDate } from './values.ts';

/**
 * Value date, entry date, direction, third letter of the currency, amount, type. Some banks leave the type out. Then two fraction digits
 * show that the amount is not cut off, and a reference or nothing follows.
 */
const ENTRY =
  /^(\d{6})(\d{4}| {4})? *(R?[CD]|E[CD])[A-Z]? *([\d.,]+)(?: *(?!NONREF|[EKPM]REF|MARF)([A-Z][A-Za-z0-9 ]{3})|(?<=[.,]\d\d\d?)(?= *(?:\/\/|NONREF|[EKPM]REF|MARF|$)))/;
/** A line that begins with the type, as the rest of the line before. */
const WRAPPED_TYPE = /^[NSF][A-Z0-9]{3}(?:NONREF|.{0,16}\/\/)/;
/** References have 16 characters. Some banks pad them with blanks and append the counterparty's name. */
const REFERENCE_LENGTH = 16;
/** Values that say where the reference is, or that there is none. */
const NO_REFERENCE = /^(?:NONREF|NOTPROVIDED|[EKPM]REF|MARF)?\+?$/i;

/** The content of :61:. */
export interface EntryLine extends Pick<Entry, 'status' | 'date' | 'dc' | 'amount' | 'code'> {
  /** The account owner's reference. */
  ownReference: string | null;
  bankReference: string | null;
  /** The counterparty's name, if it stands after the references. */
  name: string | null;
  /** YYYY-MM-DD; null: not a date of the calendar. */
  valueDate: string | null;
  /** RC or RD. */
  isReversal: boolean;
  /** The lines after the first. */
  supplement: string[];
  warning: string | null;
}

type EntryLineResult = { entryLine: EntryLine } | { issue: { path: string; message: string } };

/**
 * Reads :61:. RC, the reversal of a credit, takes money away; RD, the reversal of a debit, brings it back. EC and ED are expected
 * entries, which are not booked.
 * @param isUnended the file ends within the line
 */
export function readEntryLine(lines: readonly string[], isUnended = false): EntryLineResult {
  const [first = '', second = ''] = lines;
  const onOneLine = ENTRY.exec(first);
  // Some files have a line end within the entry's fixed part.
  const isWrapped = onOneLine === null || (onOneLine[5] === undefined && WRAPPED_TYPE.test(second));
  const text = isWrapped ? first + second : first;
  const match = isWrapped ? ENTRY.exec(text) : onOneLine;
  const [head = '', valueDate = '', entryDate = '', mark = '', amountText = '', type] = match ?? [];
  if (match === null || (isUnended && type === undefined && head === text)) {
    const allowed =
      'YYMMDD, MMDD, one of C, D, RC, RD, EC, ED, an amount such as 1234,56 and a type such as NTRF are allowed';
    return { issue: { path: ':61:', message: `:61: is ${quote(first)}: ${allowed}` } };
  }
  const amount = readAmount(amountText);
  if (amount === null)
    return { issue: { path: 'amount', message: `the amount is ${quote(amountText)}: ${ALLOWED_AMOUNT}` } };
  const booked = readBookingDate(entryDate.trim(), valueDate);
  if (booked === null) {
    const found = quote(valueDate + entryDate);
    return { issue: { path: 'date', message: `the date is ${found}: YYMMDD, or YYMMDDMMDD, is allowed` } };
  }
  const supplement = lines.slice(isWrapped ? 2 : 1);
  return {
    entryLine: {
      status: mark.startsWith('E') ? 'pending' : 'booked',
      date: booked.date,
      dc: ['C', 'RD', 'EC'].includes(mark) ? 'Credit' : 'Debit',
      amount,
      code: type?.trim() ?? null,
      valueDate: readDate(valueDate)?.date ?? null,
      isReversal: mark.startsWith('R'),
      ...readReferences(text.slice(head.length), supplement),
      warning: booked.exact
        ? null
        : `the entry's date is ${quote(entryDate.trim() || valueDate)}, which does not exist: it is read as ${booked.date}`,
    },
  };
}

/** The booking date is the entry date, or the value date if the entry date is missing, blank or 0000. */
function readBookingDate(entryDate: string, valueDate: string): ReadDate | null {
  return entryDate === '' || entryDate === '0000' ? readDate(valueDate) : readEntryDate(entryDate, valueDate);
}

function readReferences(
  text: string,
  lines: string[],
): Pick<EntryLine, 'ownReference' | 'bankReference' | 'name' | 'supplement'> {
  const slashes = text.indexOf('//');
  const own = slashes === -1 ? text : text.slice(0, slashes);
  const [next = ''] = lines;
  // Some banks write the bank's reference on the next line.
  const isNextLine = slashes === -1 && next.startsWith('//');
  const bank = isNextLine ? next.slice(2) : slashes === -1 ? '' : text.slice(slashes + 2);
  const hasName = own[REFERENCE_LENGTH - 1] === ' ';
  return {
    ownReference: readReference(hasName ? own.slice(0, REFERENCE_LENGTH) : own),
    bankReference: readReference(bank),
    name: hasName ? own.slice(REFERENCE_LENGTH).trim() || null : null,
    supplement: isNextLine ? lines.slice(1) : lines,
  };
}

function readReference(text: string): string | null {
  const reference = text.trim();
  return NO_REFERENCE.test(reference) ? null : reference;
}
