import { quote } from '../quote.ts';
import type { Entry, StatementEvent } from '../statement.ts';
import { decimalsOf, parseDigits, parseImplied } from './implied-amount.ts';
import { readFields, skipFunds } from './record-fields.ts';
import type { BaiRecord } from './records.ts';
import { meaningOf } from './type-codes.ts';

export interface Detail {
  events: StatementEvent[];
  /** The amount as it stands, for control totals. Null: it cannot be read. */
  digits: bigint | null;
}

/**
 * Maps a transaction detail (16) to an entry, or to an issue that says why there is none. Information (type code 890) is neither.
 * @param date the as-of date of its group
 * @param currency that of its account, which the decimals depend on
 */
export function toEntry(record: BaiRecord, date: string | null, currency: string): Detail {
  const fields = readFields(record);
  const typeCode = fields.next();
  const amountText = fields.next() ?? '';
  const events: StatementEvent[] = [];
  const digits = amountText === '' && record.brokenAt === null ? 0n : parseDigits(amountText);
  const issue = (path: string, message: string): Detail => ({
    events: [{ type: 'issue', line: record.line, path, message }],
    digits,
  });

  const meaning = meaningOf(typeCode ?? '');
  if (meaning === 'information') return { events, digits };
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
  if (!skipFunds(fields))
    warn('The funds type is not one of 0, 1, 2, S, V, D and Z. The reference and the text may be wrong.');
  if (record.hasStrayText)
    warn('A line without a record code was read as text of the transaction before it.');
  if (record.isCut) warn('The text is longer than 64 Ki characters. Its end was left out.');
  else if (record.isUnfinished) warn('The file ends inside this transaction. Its text may be incomplete.');
  const bankReference = fields.next() ?? '';
  const customerReference = fields.next() ?? '';
  const entry: Entry = {
    line: record.line,
    status: 'booked',
    date,
    dc: meaning,
    amount,
    currency: null,
    balance: null,
    code: typeCode,
    description: describe(fields.rest(), customerReference) || null,
    name: null,
    opponentId: null,
    opponentIban: null,
    reference: bankReference || customerReference || null,
  };
  events.push({ type: 'entry', entry });
  return { events, digits };
}

/** The customer's reference is a check number or what the customer calls the payment. */
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
    return `The amount ${quote(text)} of ${currency} has ${decimalsOf(currency)} decimals, and does not fit in hundredths.`;
  return `The amount is ${quote(text)}. It must be digits without a sign and without a decimal point.`;
}
