import { parseNorma43 } from '../../../packages/statements/src/norma43/parse.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { readEvents } from '../statement-events.ts';

/** 1,000.00 EUR on 1 March 2026, of the account 9876 0007 0000123456. */
export const HEADER = '11987600070000123456260301260331200000000100000978 3MOLINO';
export const IBAN = 'ES4198760007510000123456';

interface MovementFields {
  date?: string;
  valueDate?: string;
  concepts?: string;
  sign?: string;
  amount?: string;
  document?: string;
  reference1?: string;
  reference2?: string;
}

/** A movement (22): a credit of 5.00, unless something else is said. */
export const movement = ({
  date = '260302',
  valueDate = '260302',
  concepts = '02001',
  sign = '2',
  amount = '500',
  document = '0000000000',
  reference1 = '000000000000',
  reference2 = '0000000000000000',
}: MovementFields = {}): string =>
  `22    0007${date}${valueDate}${concepts}${sign}${amount.padStart(14, '0')}${document}${reference1.padEnd(12)}${reference2}`;

/** The end of the account (33). Counts and sums in cents; the closing balance is a credit. */
export const closing = (debits: [number, number], credits: [number, number], balance: number): string => {
  const side = ([count, sum]: [number, number]) => `${count}`.padStart(5, '0') + `${sum}`.padStart(14, '0');
  return `33987600070000123456${side(debits)}${side(credits)}2${`${balance}`.padStart(14, '0')}978`;
};

/** A file of one account, with the record of its end (88). */
export const fileOf = (...records: string[]): string =>
  [HEADER, ...records, `88${'9'.repeat(18)}${`${records.length + 1}`.padStart(6, '0')}`, ''].join('\n');

export const read = (text: string): Promise<StatementEvent[]> => readEvents(parseNorma43, text);
