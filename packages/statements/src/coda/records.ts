import { amount, date, digits, raw, text } from '../shared/columns.ts';
import { createCutter, type RecordTable } from '../shared/fixed-columns.ts';

/** The records of CODA and their columns. Source: Febelfin, Coded statement of account (CODA), version 2.6, chapter 2. */

/** The characters of a record. */
export const RECORD_LENGTH = 128;

export const HEADER = {
  name: 'the header (0)',
  columns: {
    bankCode: text('bank identification number', 12, 14),
    bic: text('BIC', 61, 71),
    version: text('version code', 128, 128),
  },
} as const satisfies RecordTable;

export const OLD_BALANCE = {
  name: 'the old balance (1)',
  columns: {
    structure: digits('account structure', 2, 2),
    paperNumber: text('sequence number on paper', 3, 5),
    account: raw('account number and currency', 6, 42),
    sign: raw('sign', 43, 43),
    amount: amount('old balance', 44, 58, 3),
    date: date('date', 59, 64, 'DDMMYY'),
    number: text('sequence number', 126, 128),
  },
} as const satisfies RecordTable;

export const MOVEMENT = {
  name: 'the movement (2.1)',
  columns: {
    sequence: digits('continuous sequence number', 3, 6),
    detail: digits('detail number', 7, 10),
    reference: text('reference of the bank', 11, 31),
    sign: raw('sign', 32, 32),
    amount: amount('amount', 33, 47, 3),
    valueDate: date('value date', 48, 53, 'DDMMYY'),
    code: text('transaction code', 54, 61),
    communicationType: raw('communication type', 62, 62),
    communication: raw('communication', 63, 115),
    date: date('entry date', 116, 121, 'DDMMYY'),
  },
} as const satisfies RecordTable;

export const MOVEMENT_2 = {
  name: 'the movement (2.2)',
  columns: {
    communication: raw('communication', 11, 63),
    customerReference: text('customer reference', 64, 98),
    returnType: raw('type of R-transaction', 113, 113),
  },
} as const satisfies RecordTable;

export const MOVEMENT_3 = {
  name: 'the movement (2.3)',
  columns: {
    account: raw('account of the counterparty', 11, 47),
    counterparty: text('name of the counterparty', 48, 82),
    communication: raw('communication', 83, 125),
  },
} as const satisfies RecordTable;

export const INFORMATION = {
  name: 'the information (3.1)',
  columns: {
    communicationType: raw('communication type', 40, 40),
    communication: raw('communication', 41, 113),
  },
} as const satisfies RecordTable;

export const INFORMATION_2 = {
  name: 'the information (3.2)',
  columns: { communication: raw('communication', 11, 115) },
} as const satisfies RecordTable;

export const INFORMATION_3 = {
  name: 'the information (3.3)',
  columns: { communication: raw('communication', 11, 100) },
} as const satisfies RecordTable;

export const NEW_BALANCE = {
  name: 'the new balance (8)',
  columns: {
    account: raw('account number and currency', 5, 41),
    sign: raw('sign', 42, 42),
    amount: amount('new balance', 43, 57, 3),
    date: date('date', 58, 63, 'DDMMYY'),
  },
} as const satisfies RecordTable;

export const TRAILER = {
  name: 'the trailer (9)',
  columns: {
    records: digits('number of records', 17, 22),
    debits: amount('debit movement', 23, 37, 3),
    credits: amount('credit movement', 38, 52, 3),
    follows: raw('multiple file code', 128, 128),
  },
} as const satisfies RecordTable;

export const cut = {
  header: createCutter(HEADER),
  oldBalance: createCutter(OLD_BALANCE),
  movement: createCutter(MOVEMENT),
  movement2: createCutter(MOVEMENT_2),
  movement3: createCutter(MOVEMENT_3),
  information: createCutter(INFORMATION),
  information2: createCutter(INFORMATION_2),
  information3: createCutter(INFORMATION_3),
  newBalance: createCutter(NEW_BALANCE),
  trailer: createCutter(TRAILER),
};
