import { decimalsOf, parseAmount } from '../amounts.ts';
import { keepKnown } from '../shared/payment-references.ts';
import { quote } from '../shared/text.ts';
import type { Entry, EntryDetails, MinorUnits, StatementEvent } from '../statement.ts';
import { calendarDate } from '../values.ts';
import { readLabels } from './labels.ts';
import { type BaiRecord, readFields, readFunds } from './records.ts';

export interface Detail {
  events: StatementEvent[];
  /** The amount as it stands, for control totals. Null: it cannot be read. */
  digits: bigint | null;
  /** The total of the account in which it is counted. Null: none, as it is no transaction. */
  total: TotalCode | null;
}

/**
 * Maps a transaction detail (16) to an entry, or to an issue that says why there is none. Information (type code 890) gives
 * neither.
 * @param date the as-of date of its group
 * @param currency the currency of its account, which decides the number of decimals
 */
export function toEntry(record: BaiRecord, date: string | null, currency: string): Detail {
  const fields = readFields(record);
  const typeCode = fields.next();
  const amountText = fields.next() ?? '';
  const events: StatementEvent[] = [];
  const digits = amountText === '' && record.brokenAt === null ? 0n : parseDigits(amountText);
  const meaning = meaningOf(typeCode ?? '');
  const total = totalOf(typeCode ?? '', meaning);
  const issue = (path: string, message: string): Detail => ({
    events: [{ type: 'issue', line: record.line, path, message }],
    digits,
    total,
  });

  if (meaning === 'information') return { events, digits, total };
  if (meaning !== 'Credit' && meaning !== 'Debit')
    return issue('type code', describeTypeCode(typeCode, meaning));
  const amount = parseImplied(amountText, currency);
  if (amount === null || amountText.startsWith('-'))
    return issue('amount', describeAmount(record, amountText, currency));
  if (date === null)
    return issue(
      'as-of date',
      'The group (02) has no as-of date that can be read, so this transaction has no date.',
    );

  const warn = (message: string) => events.push({ type: 'warning', line: record.line, message });
  const funds = readFunds(fields);
  if (funds === false)
    warn('The funds type is not one of 0, 1, 2, S, V, D and Z. The reference and the text may be wrong.');
  if (record.hasStrayText)
    warn('A line without a record code was read as text of the transaction before it.');
  if (record.isCut) warn('The text is longer than 64 Ki characters. Its end was left out.');
  else if (record.isUnfinished) warn('The file ends inside this transaction. Its text may be incomplete.');
  const bankReference = fields.next() ?? '';
  const customerText = fields.next() ?? '';
  const customerReference = isZero(customerText) ? '' : customerText;
  // Zeros of the bank stay, because they show that it writes no other reference. They are no id.
  const isOwnReference = isZero(bankReference) && customerReference !== '';
  const valueDate = (funds ? readDate(funds) : null) ?? undefined;
  const text = fields.rest();
  const { name, opponentId, opponentIban, endToEndId } = readLabels(text, typeCode ?? '', meaning);
  const details = keepKnown<EntryDetails>({ valueDate, endToEndId });
  const entry: Entry = {
    line: record.line,
    status: 'booked',
    date,
    dc: meaning,
    amount,
    currency: null,
    balance: null,
    code: typeCode,
    description: describe(text, customerReference) || null,
    name,
    opponentId,
    opponentIban,
    reference: (isOwnReference ? customerReference : bankReference) || null,
    ...(isOwnReference && { isOwnReference: true as const }),
    ...(details === undefined ? {} : { details }),
  };
  events.push({ type: 'entry', entry });
  return { events, digits, total };
}

/** Banks fill a reference that they do not have with zeros. */
const isZero = (reference: string): boolean => /^0*$/.test(reference);

/** YYMMDD, or YYYYMMDD as some banks write. The years 80 to 99 are 1980 to 1999, as in SWIFT. */
export function readDate(text: string): string | null {
  const [, century, year, month, day] = /^(\d{2})?(\d{2})(\d{2})(\d{2})$/.exec(text) ?? [];
  if (day === undefined) return null;
  return calendarDate(
    Number((century ?? (Number(year) >= 80 ? '19' : '20')) + year),
    Number(month),
    Number(day),
  );
}

/** The customer's reference is a check number or the customer's name for the payment. */
const describe = (text: string, customerReference: string): string =>
  customerReference === '' || text.includes(customerReference) ? text : `${text} ${customerReference}`.trim();

function describeTypeCode(typeCode: string | null, meaning: 'summary' | 'status' | 'unknown'): string {
  const found = `The type code is ${quote(typeCode ?? '')}`;
  if (meaning !== 'unknown')
    return `${found}, which is a ${meaning}. A transaction (16) must have the code of a single credit or debit.`;
  return `${found}. It must be a credit (101 to 399, 920 to 959), a debit (401 to 699, 960 to 999) or a loan payment (721 to 728).`;
}

function describeAmount(record: BaiRecord, text: string, currency: string): string {
  if (text === '')
    return record.brokenAt !== null
      ? 'The transaction is broken off before its amount ends.'
      : 'The transaction has no amount.';
  const digits = parseDigits(text);
  const fits = digits !== null && digits >= 0n && digits < 10n ** 20n;
  if (fits)
    return `The amount ${quote(text)} of ${currency} has ${decimalsOf(currency)} decimals, and does not fit in thousandths.`;
  return `The amount is ${quote(text)}. It must be digits without a sign and without a decimal point.`;
}

/** The meaning of a transaction detail's type code. `summary` and `status` codes belong into account records only. */
type TypeCodeMeaning = 'Credit' | 'Debit' | 'summary' | 'status' | 'information' | 'unknown';

/** Codes above 100 that stand for sums (BAI2 specification, appendix A: level "Summary" or "Status"). */
const SUMMARIES = new Set(
  (
    '100 101 105 106 107 109 110 120 130 131 140 146 150 160 162 163 167 170 178 180 182 185 186 188 190 200 205 207 210 215 230 231 ' +
    '239 245 250 251 256 260 270 271 280 285 294 302 303 304 305 307 309 310 315 316 318 319 320 321 324 325 326 327 328 329 330 332 ' +
    '336 338 340 341 343 350 352 355 356 360 361 370 385 389 390 400 401 403 405 406 410 412 416 420 430 446 450 463 465 467 470 471 ' +
    '478 480 482 486 490 500 505 507 510 515 530 532 534 536 537 539 550 551 556 560 570 580 583 584 585 586 587 588 590 594 596 601 ' +
    '602 610 611 612 613 614 615 617 618 621 623 625 626 628 630 632 640 646 650 655 665 670 685 689 690 701 703 705 707 709 720 760'
  ).split(' '),
);

/**
 * Reads a type code (BAI2 specification, "Type Code Ranges" and appendix A). Codes from 900 on are agreed between a bank and its
 * customer, within ranges. Of the loan codes, 721 to 728 are payments.
 */
function meaningOf(typeCode: string): TypeCodeMeaning {
  if (!/^\d{3}$/.test(typeCode)) return 'unknown';
  if (SUMMARIES.has(typeCode)) return 'summary';
  const code = Number(typeCode);
  if (code === 890) return 'information';
  if (code < 100 || (code >= 900 && code < 920)) return 'status';
  if (code < 400 || (code >= 721 && code <= 728) || (code >= 920 && code < 960)) return 'Credit';
  return code < 700 || code >= 960 ? 'Debit' : 'unknown';
}

/** The type codes that are the sum of all transactions of a kind. */
export const TOTALS = { '100': 'total credits', '400': 'total debits', '720': 'total loan payments' };

export type TotalCode = keyof typeof TOTALS;

export const isTotal = (typeCode: string): typeCode is TotalCode => Object.hasOwn(TOTALS, typeCode);

function totalOf(typeCode: string, meaning: TypeCodeMeaning): TotalCode | null {
  if (meaning !== 'Credit' && meaning !== 'Debit') return null;
  if (/^7/.test(typeCode)) return '720';
  return meaning === 'Credit' ? '100' : '400';
}

/** @returns the digits of an amount as they stand, for control totals; null if it is no whole number */
export function parseDigits(text: string): bigint | null {
  const [, sign, digits] = /^([+-]?)(\d{1,40})$/.exec(text) ?? [];
  if (digits === undefined) return null;
  return sign === '-' ? -BigInt(digits) : BigInt(digits);
}

/**
 * Reads an amount of a currency whose decimals are implied: "1234" is 12.34 USD, 1234 JPY or 1.234 KWD.
 * @returns thousandths; null if it is no whole number, or does not fit in thousandths (1.2345 CLF)
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
