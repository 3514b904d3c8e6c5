import { amount, date, digits, raw, text } from '../shared/columns.ts';
import { createCutter, type RecordTable } from '../shared/fixed-columns.ts';

/** The records of Norma 43: AEB and CECA, Serie normas y procedimientos bancarios 43, "Información normalizada de cuenta corriente". */

/** Characters of a record. */
export const LENGTH = 80;

/** The header of an account (record 11). */
export const HEADER = {
  name: 'the account (11)',
  columns: {
    bank: digits('bank', 3, 6),
    office: digits('office', 7, 10),
    account: text('account number', 11, 20),
    from: date('first day', 21, 26, 'YYMMDD'),
    to: date('last day', 27, 32, 'YYMMDD'),
    sign: digits('sign of the opening balance', 33, 33),
    balance: amount('opening balance', 34, 47, 2),
    currency: text('currency', 48, 50),
  },
} as const satisfies RecordTable;

/** A movement (record 22). */
export const MOVEMENT = {
  name: 'the movement (22)',
  columns: {
    date: date('operation date', 11, 16, 'YYMMDD'),
    valueDate: date('value date', 17, 22, 'YYMMDD'),
    concepts: text('concepts', 23, 27),
    sign: digits('sign', 28, 28),
    amount: amount('amount', 29, 42, 2),
    document: text('document number', 43, 52),
    reference1: text('reference 1', 53, 64),
    reference2: text('reference 2', 65, 80),
  },
} as const satisfies RecordTable;

/** More text of a movement (record 23): two concepts of 38 characters, side by side. */
export const TEXT = {
  name: 'the text (23)',
  columns: { concepts: raw('concepts', 5, 80) },
} as const satisfies RecordTable;

/** The amount of a movement in another currency (record 24). */
export const EQUIVALENT = {
  name: 'the record 24',
  columns: { currency: text('currency', 5, 7), amount: amount('amount', 8, 21, 2) },
} as const satisfies RecordTable;

/** The end of an account (record 33). */
export const CLOSING = {
  name: 'the end of the account (33)',
  columns: {
    bank: HEADER.columns.bank,
    office: HEADER.columns.office,
    account: HEADER.columns.account,
    debitCount: digits('number of debits', 21, 25),
    debits: amount('sum of debits', 26, 39, 2),
    creditCount: digits('number of credits', 40, 44),
    credits: amount('sum of credits', 45, 58, 2),
    sign: digits('sign of the closing balance', 59, 59),
    balance: amount('closing balance', 60, 73, 2),
    currency: text('currency', 74, 76),
  },
} as const satisfies RecordTable;

/** The end of the file (record 88). */
export const END = {
  name: 'the end of the file (88)',
  columns: { records: digits('number of records', 21, 26) },
} as const satisfies RecordTable;

export const cutHeader = createCutter(HEADER);
export const cutMovement = createCutter(MOVEMENT);
export const cutText = createCutter(TEXT);
export const cutEquivalent = createCutter(EQUIVALENT);
export const cutClosing = createCutter(CLOSING);
export const cutEnd = createCutter(END);
