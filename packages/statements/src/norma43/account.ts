import { describeColumn, type FixedLine } from '../shared/fixed-columns.ts';
import { quote } from '../shared/text.ts';
import type { AccountReference, Balance, MinorUnits } from '../statement.ts';
import { currencyOf } from './currencies.ts';
import { cutHeader, HEADER } from './records.ts';

/** Why a movement is no entry. */
export interface Fault {
  path: string;
  message: string;
}

/** The header of an account. */
export interface Account {
  reference: AccountReference;
  /** Bank, office and account as they stand, to compare them with the record of its end (33). */
  key: string;
  /** The currency's number as it stands. */
  currencyNumber: string;
  /** Why its movements are no entries; null: they are. */
  problem: Fault | null;
  /** YYYY-MM-DD */
  from: string | null;
  to: string | null;
  opening: Balance | null;
  warnings: string[];
}

/** Bank, office and account as they stand in records 11 and 33. */
export const keyOf = ({ text }: FixedLine): string => text.slice(2, 20);

/** Reads the header of an account (record 11). */
export function readAccount(line: FixedLine): Account {
  const { bank, office, account, from, to, sign, balance, currency: number } = cutHeader(line.text);
  const warnings: string[] = [];
  const warn = (key: string) => warnings.push(describeColumn(HEADER, key, line));
  const signed = sign === null ? null : toBalance(sign, balance);
  if (balance === null) warn('balance');
  else if (signed === null) warnings.push(describeSign(HEADER.columns.sign.name, sign ?? '', line));
  if (from === null) warn('from');
  if (to === null) warn('to');
  if (from !== null && to !== null && from > to)
    warnings.push(`The first day of the account (11) is ${from}, after its last day ${to}.`);
  const currency = currencyOf(number);
  const isOfYears =
    from !== null && to !== null && Number(to.slice(0, 4)) - Number(from.slice(0, 4)) > MOST_YEARS;
  const isEmpty = /^0*$/.test(number);
  if (isEmpty) warnings.push('The account (11) has no currency.');
  const iban = bank === null || office === null ? null : ibanOf(bank, office, account);
  return {
    reference: { iban, number: iban === null && account !== '' ? account : null, currency, bank },
    key: keyOf(line),
    currencyNumber: number,
    problem: isOfYears
      ? describePeriod(from, to)
      : isEmpty || currency !== null
        ? null
        : describeCurrency(number),
    from,
    to,
    opening: signed === null ? null : { amount: signed, date: from },
    warnings,
  };
}

const describeCurrency = (number: string): Fault => ({
  path: 'currency',
  message: `The currency of the account (11) is ${quote(number)}. It must be the number of a currency of ISO 4217, such as 978 for EUR.`,
});

/** Most years between the first and the last day of an account. */
const MOST_YEARS = 10;

/** A month in the wrong order of day and year, as 010326 to 310326, is a period of thirty years. */
const describePeriod = (from: string, to: string): Fault => ({
  path: 'period',
  message: `The period of the account (11) is from ${from} to ${to}, more than ${MOST_YEARS} years. Its days must be YYMMDD, and may be DDMMYY.`,
});

/** @param sign 1 is a debit, 2 a credit (records 11, 22 and 33). @returns null for any other sign, or without an amount. */
export const toBalance = (sign: string, amount: MinorUnits | null): MinorUnits | null =>
  amount === null || (sign !== '1' && sign !== '2') ? null : sign === '1' ? -amount : amount;

export const describeSign = (name: string, found: string, { line }: FixedLine): string =>
  `The ${name} is ${quote(found)} in line ${line}. It must be 1 (debit) or 2 (credit).`;

const WEIGHTS = [1, 2, 4, 8, 5, 10, 9, 7, 3, 6];

/** The check digit of up to ten digits (Código cuenta cliente, the norms of the Consejo Superior Bancario): weights, modulo 11. */
function checkDigit(text: string): string {
  let sum = 0;
  const padded = text.padStart(WEIGHTS.length, '0');
  for (const [at, weight] of WEIGHTS.entries()) sum += weight * Number(padded[at]);
  const digit = 11 - (sum % 11);
  return digit === 11 ? '0' : digit === 10 ? '1' : `${digit}`;
}

/**
 * Makes the IBAN of a Spanish account (SWIFT, IBAN registry, ES: bank, office, two check digits, account).
 * @returns null if the account has no ten digits, or the bank or the account is all zeros, as no bank has them.
 */
export function ibanOf(bank: string, office: string, account: string): string | null {
  if (!/^\d{10}$/.test(account) || !/[1-9]/.test(bank) || !/[1-9]/.test(account)) return null;
  const basic = `${bank}${office}${checkDigit(bank + office)}${checkDigit(account)}${account}`;
  // E is 14, S is 28.
  const check = 98n - (BigInt(`${basic}142800`) % 97n);
  return `ES${`${check}`.padStart(2, '0')}${basic}`;
}
