import { quote } from '../shared/text.ts';
import type { AccountReference, Balance, StatementEvent } from '../statement.ts';
import { readIban } from '../values.ts';
import { isTotal, parseDigits, parseImplied, readDate, type TotalCode } from './map.ts';
import { type BaiRecord, readFields, readFunds } from './records.ts';

/** What an account record says of its transactions in total. */
export interface StatedTotal {
  code: TotalCode;
  amount: bigint;
  /** Null: the item count is empty. */
  items: bigint | null;
}

export interface Account {
  account: AccountReference;
  /** ISO 4217. USD if neither the account nor its group names one (BAI2 specification, record 02). */
  currency: string;
  opening: Balance | null;
  closing: Balance | null;
  /** The sum of the amounts as they stand, for control totals. Null: one of them cannot be read. */
  digits: bigint | null;
  /** The line of its record. */
  line: number;
  /** What the record says of its transactions in total. */
  totals: StatedTotal[];
  warnings: StatementEvent[];
}

const OPENING = '010';
const CLOSING = '015';

/** Reads an account record (03): the account, and its sums. Keeps only the ledger balances and the totals of the sums. */
export function readAccount(record: BaiRecord, group: Group): Account {
  const fields = readFields(record);
  const warnings: StatementEvent[] = [];
  const warn = (message: string) => warnings.push({ type: 'warning', line: record.line, message });
  const number = fields.next() ?? '';
  const iban = readIban(number);
  const ownCurrency = fields.next()?.toUpperCase() ?? '';
  if (ownCurrency !== '' && !/^[A-Z]{3}$/.test(ownCurrency))
    warn(`The currency is ${quote(ownCurrency)}. It must be three letters. ${group.currency} was taken.`);
  const currency = /^[A-Z]{3}$/.test(ownCurrency) ? ownCurrency : group.currency;
  const saysCurrency = currency === ownCurrency || group.saysCurrency;

  const balances = new Map<string, Balance>();
  const totals: StatedTotal[] = [];
  let digits: bigint | null = 0n;
  const add = (typeCode: string, text: string | null) => {
    if (text === '') return;
    const found: bigint | null = parseDigits(text ?? '');
    digits = digits === null || found === null ? null : digits + found;
    if (typeCode !== OPENING && typeCode !== CLOSING) return;
    const amount = parseImplied(text ?? '', currency);
    if (amount !== null) balances.set(typeCode, { amount, date: group.date });
    else
      warn(
        `The ${typeCode === OPENING ? 'opening' : 'closing'} ledger balance (${typeCode}) is ${quote(text ?? '')}. It cannot be read.`,
      );
  };

  for (let typeCode = fields.next(); typeCode !== null; typeCode = fields.next()) {
    if (typeCode === '') continue;
    if (!/^\d{3}$/.test(typeCode)) {
      warn(`The type code is ${quote(typeCode)}. It must be three digits. The sums after it were not read.`);
      digits = null;
      break;
    }
    const text = fields.next();
    add(typeCode, text);
    const amount = parseDigits(text ?? '');
    const total = isTotal(typeCode) && amount !== null ? { code: typeCode, amount, items: null } : null;
    if (total !== null) totals.push(total);
    // Some banks leave out the item count and the funds type before a continuation.
    if (beginsSum(fields.peekContinuation())) continue;
    const items = parseDigits(fields.next() ?? '');
    if (total !== null) totals[totals.length - 1] = { ...total, items };
    if (beginsSum(fields.peekContinuation())) continue;
    readFunds(fields);
  }
  if (record.isCut) digits = null;
  const account = {
    iban,
    number: iban === null && number !== '' ? number : null,
    currency,
    ...(saysCurrency ? {} : { isCurrencyAssumed: true as const }),
    bank: group.bank,
  };
  const balance = (typeCode: string) => balances.get(typeCode) ?? null;
  return {
    account,
    currency,
    opening: balance(OPENING),
    closing: balance(CLOSING),
    digits,
    line: record.line,
    totals,
    warnings,
  };
}

const beginsSum = (field: string | null): boolean => field !== null && /^\d{3}$/.test(field);

export interface Group {
  /** Update and correction are imported. */
  status: 'update' | 'deletion' | 'correction' | 'test';
  /** The as-of date, YYYY-MM-DD, which is the booking date of its transactions. Null: it cannot be read. */
  date: string | null;
  currency: string;
  /** Whether the header has the currency. */
  saysCurrency: boolean;
  kind: 'final' | 'interim';
  bank: string | null;
  warnings: string[];
}

const STATUSES: Record<string, Group['status']> = {
  '1': 'update',
  '2': 'deletion',
  '3': 'correction',
  '4': 'test',
};
const DEFAULT_CURRENCY = 'USD';

/** The header for an account outside of a group. */
export const NO_GROUP: Group = {
  status: 'update',
  date: null,
  currency: DEFAULT_CURRENCY,
  saysCurrency: false,
  kind: 'final',
  bank: null,
  warnings: [],
};

/** Reads a group header (02). */
export function readGroup(record: BaiRecord): Group {
  const fields = readFields(record);
  const [, bank, status, asOf, , currency, modifier] = Array.from({ length: 7 }, () => fields.next() ?? '');
  const date = readDate(asOf ?? '');
  const warnings: string[] = [];
  if (date === null)
    warnings.push(`The as-of date of the group is ${quote(asOf ?? '')}. It must be YYMMDD, such as 260301.`);
  if (STATUSES[status ?? ''] === undefined)
    warnings.push(
      `The group status is ${quote(status ?? '')}. It must be 1, 2, 3 or 4. 1 (update) was taken.`,
    );
  if (currency !== '' && !/^[A-Z]{3}$/i.test(currency ?? ''))
    warnings.push(
      `The currency of the group is ${quote(currency ?? '')}. It must be three letters. USD was taken.`,
    );
  return {
    status: STATUSES[status ?? ''] ?? 'update',
    date,
    currency: /^[A-Z]{3}$/i.test(currency ?? '') ? (currency ?? '').toUpperCase() : DEFAULT_CURRENCY,
    saysCurrency: /^[A-Z]{3}$/i.test(currency ?? ''),
    // 1 and 3 are interim data of the previous and of the same day.
    kind: modifier === '1' || modifier === '3' ? 'interim' : 'final',
    bank: bank || null,
    warnings,
  };
}
