import { createCutter, type RecordTable } from '../shared/fixed-columns.ts';

/** The records of CODA and their columns. Source: Febelfin, Coded statement of account (CODA), version 2.6, chapter 2. */

/** The characters of a record. */
export const RECORD_LENGTH = 128;

export const HEADER = {
  name: 'the header (0)',
  columns: {
    bankCode: { name: 'bank identification number', from: 12, to: 14, is: 'text' },
    bic: { name: 'BIC', from: 61, to: 71, is: 'text' },
    version: { name: 'version code', from: 128, to: 128, is: 'text' },
  },
} as const satisfies RecordTable;

export const OLD_BALANCE = {
  name: 'the old balance (1)',
  columns: {
    structure: { name: 'account structure', from: 2, to: 2, is: 'digits' },
    paperNumber: { name: 'sequence number on paper', from: 3, to: 5, is: 'text' },
    account: { name: 'account number and currency', from: 6, to: 42, is: 'raw' },
    sign: { name: 'sign', from: 43, to: 43, is: 'raw' },
    amount: { name: 'old balance', from: 44, to: 58, is: 'amount', decimals: 3 },
    date: { name: 'date', from: 59, to: 64, is: 'date', order: 'DDMMYY' },
    number: { name: 'sequence number', from: 126, to: 128, is: 'text' },
  },
} as const satisfies RecordTable;

export const MOVEMENT = {
  name: 'the movement (2.1)',
  columns: {
    sequence: { name: 'continuous sequence number', from: 3, to: 6, is: 'digits' },
    detail: { name: 'detail number', from: 7, to: 10, is: 'digits' },
    reference: { name: 'reference of the bank', from: 11, to: 31, is: 'text' },
    sign: { name: 'sign', from: 32, to: 32, is: 'raw' },
    amount: { name: 'amount', from: 33, to: 47, is: 'amount', decimals: 3 },
    valueDate: { name: 'value date', from: 48, to: 53, is: 'date', order: 'DDMMYY' },
    code: { name: 'transaction code', from: 54, to: 61, is: 'text' },
    communicationType: { name: 'communication type', from: 62, to: 62, is: 'raw' },
    communication: { name: 'communication', from: 63, to: 115, is: 'raw' },
    date: { name: 'entry date', from: 116, to: 121, is: 'date', order: 'DDMMYY' },
  },
} as const satisfies RecordTable;

export const MOVEMENT_2 = {
  name: 'the movement (2.2)',
  columns: {
    communication: { name: 'communication', from: 11, to: 63, is: 'raw' },
    customerReference: { name: 'customer reference', from: 64, to: 98, is: 'text' },
    returnType: { name: 'type of R-transaction', from: 113, to: 113, is: 'raw' },
  },
} as const satisfies RecordTable;

export const MOVEMENT_3 = {
  name: 'the movement (2.3)',
  columns: {
    account: { name: 'account of the counterparty', from: 11, to: 47, is: 'raw' },
    counterparty: { name: 'name of the counterparty', from: 48, to: 82, is: 'text' },
    communication: { name: 'communication', from: 83, to: 125, is: 'raw' },
  },
} as const satisfies RecordTable;

export const INFORMATION = {
  name: 'the information (3.1)',
  columns: {
    communicationType: { name: 'communication type', from: 40, to: 40, is: 'raw' },
    communication: { name: 'communication', from: 41, to: 113, is: 'raw' },
  },
} as const satisfies RecordTable;

export const INFORMATION_2 = {
  name: 'the information (3.2)',
  columns: { communication: { name: 'communication', from: 11, to: 115, is: 'raw' } },
} as const satisfies RecordTable;

export const INFORMATION_3 = {
  name: 'the information (3.3)',
  columns: { communication: { name: 'communication', from: 11, to: 100, is: 'raw' } },
} as const satisfies RecordTable;

export const NEW_BALANCE = {
  name: 'the new balance (8)',
  columns: {
    account: { name: 'account number and currency', from: 5, to: 41, is: 'raw' },
    sign: { name: 'sign', from: 42, to: 42, is: 'raw' },
    amount: { name: 'new balance', from: 43, to: 57, is: 'amount', decimals: 3 },
    date: { name: 'date', from: 58, to: 63, is: 'date', order: 'DDMMYY' },
  },
} as const satisfies RecordTable;

export const TRAILER = {
  name: 'the trailer (9)',
  columns: {
    records: { name: 'number of records', from: 17, to: 22, is: 'digits' },
    debits: { name: 'debit movement', from: 23, to: 37, is: 'amount', decimals: 3 },
    credits: { name: 'credit movement', from: 38, to: 52, is: 'amount', decimals: 3 },
    follows: { name: 'multiple file code', from: 128, to: 128, is: 'raw' },
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
