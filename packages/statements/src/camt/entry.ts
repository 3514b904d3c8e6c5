import { rememberLast } from '../shared/text.ts';
import type { MinorUnits } from '../statement.ts';
import { parseAmount } from '../values.ts';
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

/** Parses an amount of a message in hundredths. It has no sign, because CdtDbtInd gives the direction. */
export const readAmount = (text: string): MinorUnits | null => parseAmount(text, '.');

/** Parses CdtDbtInd. */
export function readDirection(text: string | undefined): 'Debit' | 'Credit' | null {
  if (text === 'CRDT') return 'Credit';
  return text === 'DBIT' ? 'Debit' : null;
}

/**
 * Parses an xs:date or xs:dateTime.
 * @returns the date as it stands in the file, regardless of the time and its zone; null if it is not a date of the calendar.
 */
export const readDate = rememberLast((text): string | null => {
  const date = /^(\d{4}-\d{2}-\d{2})(?:T[\d:.]+)?(?:Z|[+-]\d{2}:?\d{2})?$/.exec(text)?.[1];
  if (date === undefined) return null;
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  // Date.UTC turns 31 November into 1 December.
  const parsed = new Date(Date.UTC(year, month - 1, day));
  return parsed.getUTCMonth() === month - 1 && parsed.getUTCDate() === day ? date : null;
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

/** The elements with a detail's amount: Amt since version 03, AmtDtls/TxAmt in all versions. */
const AMOUNTS = [
  ['amount', 'currency'],
  ['transactionAmount', 'transactionCurrency'],
] as const;

/**
 * Divides the amount of a batch among its details.
 * @returns a share per detail. Null, unless there are several details, each with an amount in the currency of the entry, and their
 * amounts add up to the amount of the entry.
 */
export function divide(entry: Share, currency: string | null, details: readonly Detail[]): Share[] | null {
  if (details.length < 2) return null;
  for (const order of [AMOUNTS, AMOUNTS.toReversed()]) {
    const shares = details.map(({ fields }) => readShare(fields, order, entry.dc, currency));
    const sum = shares.reduce((total, share) => total + signed(share), 0n);
    if (shares.every((share) => share !== null) && sum === signed(entry)) return shares;
  }
  return null;
}

/** The amount of a share, negative for a debit. */
export const signed = (share: Share | null): MinorUnits =>
  share === null ? 0n : share.dc === 'Debit' ? -share.amount : share.amount;

function readShare(
  fields: Fields,
  order: readonly (readonly ['amount' | 'transactionAmount', 'currency' | 'transactionCurrency'])[],
  entryDirection: 'Debit' | 'Credit',
  entryCurrency: string | null,
): Share | null {
  const dc = fields.dc === undefined ? entryDirection : readDirection(fields.dc);
  const [amountField] = order.find(([amount, currency]) => {
    return fields[amount] !== undefined && (fields[currency] ?? entryCurrency) === entryCurrency;
  }) ?? [null];
  const amount = amountField === null ? null : readAmount(fields[amountField] ?? '');
  return dc === null || amount === null ? null : { amount, dc };
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
