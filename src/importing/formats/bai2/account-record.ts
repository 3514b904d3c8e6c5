import { readIban } from '../../../accounts/iban.ts';
import { quote } from '../quote.ts';
import type { AccountReference, Balance, StatementEvent } from '../statement.ts';
import type { Group } from './group-header.ts';
import { parseDigits, parseImplied } from './implied-amount.ts';
import { readFields, skipFunds } from './record-fields.ts';
import type { BaiRecord } from './records.ts';

export interface Account {
  account: AccountReference;
  /** ISO 4217. USD if neither the account nor its group names one (BAI2 specification, record 02). */
  currency: string;
  opening: Balance | null;
  closing: Balance | null;
  /** The sum of the amounts as they stand, for control totals. Null: one of them cannot be read. */
  digits: bigint | null;
  warnings: StatementEvent[];
}

const OPENING = '010';
const CLOSING = '015';

/** Reads an account record (03): who it is, and its sums, of which only the ledger balances are kept. */
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

  const balances = new Map<string, Balance>();
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
    add(typeCode, fields.next());
    // Some banks leave out the item count and the funds type before a continuation.
    if (beginsSum(fields.peekContinuation())) continue;
    fields.next();
    if (beginsSum(fields.peekContinuation())) continue;
    skipFunds(fields);
  }
  if (record.isCut) digits = null;
  const account = {
    iban,
    number: iban === null && number !== '' ? number : null,
    currency,
    bank: group.bank,
  };
  const balance = (typeCode: string) => balances.get(typeCode) ?? null;
  return {
    account,
    currency,
    opening: balance(OPENING),
    closing: balance(CLOSING),
    digits,
    warnings,
  };
}

const beginsSum = (field: string | null): boolean => field !== null && /^\d{3}$/.test(field);
