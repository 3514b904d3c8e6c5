import { parseCfonb120 } from '../../../packages/statements/src/cfonb120/parse.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { readEvents } from '../statement-events.ts';

/** The number of the account with its key: 30004 00805 00012345678 95. */
export const RIB = '30004008050001234567895';

/** An amount of 14 characters, with its sign in the last one. @param value in the currency's last decimal. */
export function amountOf(value: bigint | number): string {
  const size = `${value < 0 ? -value : value}`.padStart(14, '0');
  const last = Number(size.slice(-1));
  return size.slice(0, -1) + (value < 0 ? '}JKLMNOPQR' : '{ABCDEFGHI')[last];
}

interface AccountFields {
  bank?: string;
  counter?: string;
  account?: string;
  currency?: string;
  decimals?: string;
}

/** A record of 120 characters: its code, the account, and what stands at the other columns. */
function record(
  code: string,
  {
    bank = '30004',
    counter = '00805',
    account = '00012345678',
    currency = 'EUR',
    decimals = '2',
  }: AccountFields,
  places: Readonly<Record<number, string>>,
): string {
  let text = `${code}${bank}    ${counter}${currency}${decimals} ${account}`.padEnd(120);
  for (const [from, value] of Object.entries(places))
    text = text.slice(0, Number(from) - 1) + value + text.slice(Number(from) - 1 + value.length);
  return text;
}

export const balance = (
  code: '01' | '07',
  value: bigint | number,
  { date = '280226', ...fields }: AccountFields & { date?: string } = {},
): string => record(code, fields, { 35: date, 91: amountOf(value) });

interface MovementFields extends AccountFields {
  value?: bigint | number;
  amount?: string;
  date?: string;
  valueDate?: string;
  code?: string;
  internalCode?: string;
  reject?: string;
  label?: string;
  entryNumber?: string;
  reference?: string;
}

/** A movement (04): a credit of 5.00, unless something else is said. */
export const movement = ({
  value = 500,
  amount = amountOf(value),
  date = '020326',
  valueDate = '020326',
  code = '05',
  internalCode = '',
  reject = '',
  label = 'VIR SEPA',
  entryNumber = '',
  reference = '',
  ...fields
}: MovementFields = {}): string =>
  record('04', fields, {
    8: internalCode,
    33: code,
    35: date,
    41: reject,
    43: valueDate,
    49: label,
    82: entryNumber,
    91: amount,
    105: reference,
  });

export const detail = (qualifier: string, value: string, fields: AccountFields = {}): string =>
  record('05', fields, { 33: '05', 35: '020326', 46: qualifier, 49: value });

/** A file of one statement that begins with 1,000.00 EUR. @param closing in cents. */
export const fileOf = (closing: number, ...records: string[]): string =>
  [balance('01', 100_000), ...records, balance('07', closing, { date: '020326' }), ''].join('\r\n');

export const read = (text: string): Promise<StatementEvent[]> => readEvents(parseCfonb120, text);
