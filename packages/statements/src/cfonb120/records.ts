import { LARGEST_AMOUNT } from '../amounts.ts';
import { date, digits, raw, text } from '../shared/columns.ts';
import { createCutter, type RecordTable } from '../shared/fixed-columns.ts';
import type { MinorUnits } from '../statement.ts';

/** The records of CFONB 120: CFONB, "Relevé de compte sur support informatique", July 2004, with the qualifiers of record 05 of 2007 to 2017. */

/** Characters of a record. */
export const LENGTH = 120;

/** The account stands in the same columns of each record. */
const ACCOUNT = {
  bank: text('bank', 3, 7),
  counter: text('counter', 12, 16),
  currency: text('currency', 17, 19),
  decimals: digits('number of decimals', 20, 20),
  account: text('account number', 22, 32),
} as const;

const balanceOf = (name: string) =>
  ({
    name,
    columns: { ...ACCOUNT, date: date('date', 35, 40, 'DDMMYY'), amount: raw('amount', 91, 104) },
  }) as const satisfies RecordTable;

/** Records 01 and 07: a balance. */
export const OPENING = balanceOf('the old balance (01)');
export const CLOSING = balanceOf('the new balance (07)');

/** Record 04: a movement. */
export const MOVEMENT = {
  name: 'the movement (04)',
  columns: {
    ...ACCOUNT,
    internalCode: text('internal code', 8, 11),
    code: text('interbank code', 33, 34),
    date: date('booking date', 35, 40, 'DDMMYY'),
    rejectReason: text('reason of the return', 41, 42),
    valueDate: date('value date', 43, 48, 'DDMMYY'),
    label: text('label', 49, 79),
    entryNumber: text('number of the entry', 82, 88),
    amount: raw('amount', 91, 104),
    reference: text('reference', 105, 120),
  },
} as const satisfies RecordTable;

/** Record 05: more about a movement. */
export const DETAIL = {
  name: 'the complement (05)',
  columns: { qualifier: text('qualifier', 46, 48), value: raw('information', 49, 118) },
} as const satisfies RecordTable;

export const cutOpening = createCutter(OPENING);
export const cutClosing = createCutter(CLOSING);
export const cutMovement = createCutter(MOVEMENT);
export const cutDetail = createCutter(DETAIL);

/** The last character of an amount is its last digit and its sign: { A … I for plus 0 to 9, } J … R for minus. */
const LAST = '{ABCDEFGHI}JKLMNOPQR';

const FACTORS = [1_000n, 100n, 10n, 1n];

/** Characters of an amount. */
const AMOUNT_LENGTH = 14;

/**
 * Reads an amount: 14 digits, of which the last one has the sign. One that is shorter is a part of another amount: its line was broken.
 * @param decimals of the account's record, a digit from 0 to 3.
 * @returns null if it is no such amount.
 */
export function readAmount(found: string, decimals: string | null): MinorUnits | null {
  const factor = decimals === null ? undefined : FACTORS[Number(decimals)];
  const last = LAST.indexOf(found.slice(-1));
  const digitsBefore = found.slice(0, -1);
  if (factor === undefined || found.length !== AMOUNT_LENGTH || last === -1) return null;
  if (!/^\d+$/.test(digitsBefore)) return null;
  const size = BigInt(`${digitsBefore}${last % 10}`) * factor;
  if (size > LARGEST_AMOUNT) return null;
  return last >= 10 ? -size : size;
}

/** What is allowed in an amount, for a message. */
export const AMOUNT_RULE =
  'It must be 14 digits, of which the last one is a letter with the sign: { A to I for plus, } J to R for minus. The number of decimals is 0 to 3.';
