import { formatAmount, parseAmount } from '../amounts.ts';
import { rememberLast } from '../shared/text.ts';
import type { MinorUnits } from '../statement.ts';
import { ACCOUNT, BALANCE, DETAIL, ENTRY, type Field, type Fields } from './xml.ts';

/** Says why an entry cannot be read. */
export class Unreadable extends Error {
  constructor(
    readonly path: string,
    message: string,
  ) {
    super(message);
  }
}

/** @param warn is called if the amount is rounded, or has a minus sign, which the standard does not allow. */
export function readEntryAmount(
  { amount: text, dc, currency }: Fields,
  warn: (message: string) => void,
): ReadAmount {
  const rule = 'allowed is a number with a point and the decimals of its currency, such as 1250.00';
  if (text === undefined) throw new Unreadable('Ntry/Amt', `the amount is missing; ${rule}`);
  const read = readAmount(text);
  if (read === null) throw new Unreadable('Ntry/Amt', `found ${show(text)}; ${rule}`);
  if (read.isRounded)
    warn(`The amount ${show(text)} is read as ${formatAmount(read.amount, currency ?? null)}.`);
  if (read.isNegative)
    warn(
      `The amount ${show(text)} has a minus sign, and CdtDbtInd is ${dc}. The entry is read as a ${dc === 'CRDT' ? 'credit' : 'debit'}.`,
    );
  return read;
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

/** A camt.053 reports only booked entries, so an entry without a status is booked there. */
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

export interface ReadAmount {
  /** Not negative. */
  amount: MinorUnits;
  /** It has a minus sign, which the standard does not allow, because CdtDbtInd gives the direction. */
  isNegative: boolean;
  /** It was a binary fraction, such as 33.9999999999995. */
  isRounded: boolean;
}

/** A number of at least nine decimals whose last ones are an error of binary fractions. */
const BINARY_FRACTION = /^(\d{1,18})\.(\d{3})(0{5}|9{5})\d+$/;

/** Parses an amount of a message. @returns null if it is none */
export function readAmount(text: string): ReadAmount | null {
  const plain = parseAmount(text, '.');
  if (plain !== null) return { amount: plain, isNegative: false, isRounded: false };
  const [, minus, unsigned = ''] = /^([-\u2212]?)\s*((?:\S.*)?)$/.exec(text) ?? [];
  const isNegative = minus !== '';
  const amount = parseAmount(unsigned, '.');
  if (amount !== null) return { amount, isNegative, isRounded: false };
  const [, whole, thousandths, rest] = BINARY_FRACTION.exec(unsigned) ?? [];
  if (whole === undefined || thousandths === undefined) return null;
  return {
    amount: BigInt(whole + thousandths) + (rest === '99999' ? 1n : 0n),
    isNegative,
    isRounded: true,
  };
}

/** Parses CdtDbtInd. */
export function readDirection(text: string | undefined): 'Debit' | 'Credit' | null {
  if (text === 'CRDT') return 'Credit';
  return text === 'DBIT' ? 'Debit' : null;
}

/**
 * Parses an xs:date or xs:dateTime.
 * @returns the date as it stands in the file, regardless of the time and its zone; null if it is not a date from 1900 to 2999.
 */
export const readDate = rememberLast((text): string | null => {
  const date = /^(\d{4}-\d{2}-\d{2})(?:T[\d:.]+)?(?:Z|[+-]\d{2}:?\d{2})?$/.exec(text)?.[1];
  if (date === undefined) return null;
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  // Date.UTC turns 31 November into 1 December.
  const parsed = new Date(Date.UTC(year, month - 1, day));
  const isReal = parsed.getUTCMonth() === month - 1 && parsed.getUTCDate() === day;
  // Some programs write the first or the last day of their calendar where they have no date.
  return isReal && year >= 1900 && year < 3000 ? date : null;
});

export const isCurrency = (text: string): boolean => /^[A-Z]{3}$/.test(text);

/** Shows what was found, cut to 40 characters. */
export function show(text: string): string {
  const characters = Array.from(text.slice(0, 100));
  return characters.length > 40 ? `"${characters.slice(0, 40).join('')}…"` : `"${text}"`;
}

/** The elements whose fields belong together. */
export type Scope = 'message' | 'statement' | 'balance' | 'entry' | 'detail';

/** A place in the tree of elements: the meaning of its text, and the elements that may stand below it. */
export interface PathNode {
  readonly children: Map<string, PathNode>;
  /** Whether unlisted elements below this place count as this place too. Otherwise they are ignored. */
  readonly isEndless: boolean;
  readonly scope: Scope | null;
  field: Field | null;
  /** The field of the attribute Ccy. */
  currency: Field | null;
}

/** Elements that are not read. */
export const IGNORED = createPlace();

/** The place above the message element, which may stand at any depth, for example in an envelope. */
export const OUTSIDE = createPlace({ isEndless: true });

const MESSAGES = ['BkToCstmrAcctRpt', 'BkToCstmrStmt', 'BkToCstmrDbtCdtNtfctn'];
const STATEMENTS = ['Rpt', 'Stmt', 'Ntfctn'];

const detail = createPlace({ scope: 'detail', paths: DETAIL });
const entry = createPlace({ scope: 'entry', paths: ENTRY });
for (const path of ['NtryDtls/TxDtls', 'TxDtls']) place(entry, path, detail);
const statement = createPlace({ scope: 'statement', paths: ACCOUNT });
place(statement, 'Bal', createPlace({ scope: 'balance', paths: BALANCE }));
place(statement, 'Ntry', entry);
const message = createPlace({ scope: 'message' });
for (const name of STATEMENTS) place(message, name, statement);
// Version 01 names its messages with a suffix.
for (const name of MESSAGES) for (const suffix of ['', 'V01']) place(OUTSIDE, name + suffix, message);

function createPlace({
  scope = null as Scope | null,
  paths = {} as Readonly<Record<string, Field>>,
  isEndless = false,
} = {}): PathNode {
  const created: PathNode = { children: new Map(), scope, isEndless, field: null, currency: null };
  for (const [path, field] of Object.entries(paths)) {
    const [elements = '', attribute] = path.split('@');
    const at = walk(created, elements.split('/'));
    if (attribute === undefined) at.field = field;
    else at.currency = field;
  }
  return created;
}

function walk(from: PathNode, names: readonly string[]): PathNode {
  return names.reduce((at, name) => {
    const child = at.children.get(name) ?? createPlace();
    at.children.set(name, child);
    return child;
  }, from);
}

function place(from: PathNode, path: string, what: PathNode): void {
  const names = path.split('/');
  walk(from, names.slice(0, -1)).children.set(names.at(-1) ?? '', what);
}

/** A TxDtls element of an entry. */
export interface Detail {
  line: number;
  fields: Fields;
}

/** An entry's own amount, or a detail's share of it. */
export interface Share {
  amount: MinorUnits;
  dc: 'Debit' | 'Credit';
}

/** The elements with a detail's amount: Amt since version 03, AmtDtls/TxAmt in all versions, and the amount as it was instructed. */
const AMOUNTS = {
  amount: 'currency',
  transactionAmount: 'transactionCurrency',
  originalAmount: 'originalCurrency',
} as const;

const ORDERS: readonly (readonly (keyof typeof AMOUNTS)[])[] = [
  ['amount', 'transactionAmount'],
  ['transactionAmount', 'amount'],
  ['originalAmount'],
];

/**
 * Divides the amount of a batch among its details.
 * @returns a share per detail. Null, unless there are several details, each with an amount in the currency of the entry, and their
 * amounts add up to the amount of the entry, with or without their charges.
 */
export function divide(entry: Share, currency: string | null, details: readonly Detail[]): Share[] | null {
  if (details.length < 2) return null;
  const haveCharges = details.some(({ fields }) => fields.charge !== undefined);
  for (const withCharges of haveCharges ? [false, true] : [false]) {
    for (const order of ORDERS) {
      const shares = details.map(({ fields }) => readShare(fields, order, entry.dc, currency, withCharges));
      const sum = shares.reduce((total, share) => total + signed(share), 0n);
      if (shares.every((share) => share !== null) && sum === signed(entry)) return shares;
    }
  }
  return null;
}

/** The amount of a share, negative for a debit. */
export const signed = (share: Share | null): MinorUnits =>
  share === null ? 0n : share.dc === 'Debit' ? -share.amount : share.amount;

function readShare(
  fields: Fields,
  order: readonly (keyof typeof AMOUNTS)[],
  entryDirection: 'Debit' | 'Credit',
  entryCurrency: string | null,
  withCharges: boolean,
): Share | null {
  const dc = fields.dc === undefined ? entryDirection : readDirection(fields.dc);
  const name = order.find(
    (amount) => fields[amount] !== undefined && (fields[AMOUNTS[amount]] ?? entryCurrency) === entryCurrency,
  );
  const read = name === undefined ? null : readAmount(fields[name] ?? '');
  if (dc === null || read === null) return null;
  const own = signed({ amount: read.amount, dc });
  const net = (read.isNegative ? -own : own) + (withCharges ? readCharges(fields) : 0n);
  return {
    amount: net < 0n ? -net : net,
    dc: net < 0n || (net === 0n && dc === 'Debit') ? 'Debit' : 'Credit',
  };
}

/** The charges of a detail, negative as they are usually debits. A detail may have several. */
function readCharges({ charge = '', chargeDc = '' }: Fields): MinorUnits {
  const directions = chargeDc.split(' ');
  return charge.split(' ').reduce((sum, text, at) => {
    const amount = readAmount(text)?.amount ?? 0n;
    return sum + (directions[at] === 'CRDT' ? amount : -amount);
  }, 0n);
}

/** The values that all details of an entry have in common. */
export function findCommonFields(details: readonly Detail[]): Fields {
  const [first, ...others] = details.map(({ fields }) => fields);
  if (others.length === 0) return first ?? {};
  const common = { ...first };
  for (const field of Object.keys(common) as Field[])
    if (others.some((other) => other[field] !== common[field])) delete common[field];
  return common;
}
