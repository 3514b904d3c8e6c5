import { describeColumn, type FixedLine } from '../shared/fixed-columns.ts';
import { quote } from '../shared/text.ts';
import type { AccountReference, Balance } from '../statement.ts';
import { AMOUNT_RULE, type CLOSING, cutOpening, OPENING, readAmount } from './records.ts';

/** Bank, counter, currency and account as they stand in records 01, 04, 05 and 07. */
export const keyOf = ({ text }: FixedLine): string =>
  `${text.slice(2, 7)} ${text.slice(11, 16)} ${text.slice(16, 19)} ${text.slice(21, 32)}`;

/** The values of letters in the RIB key: A and J are 1, B, K and S are 2 … */
const LETTERS = '12345678912345678923456789';

const digitsOf = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => LETTERS[letter.charCodeAt(0) - 65] ?? '0');

/**
 * Makes the number of a French or Monegasque account with its key (CFONB, "Relevé d'identité bancaire": 97 minus the remainder of 89 × bank
 * + 15 × counter + 3 × account by 97). Both countries have the same numbers, so that it is not an IBAN but the end of one.
 * @returns null if the bank, the counter or the account is incomplete, or has other characters.
 */
export function ribOf(bank: string, counter: string, account: string): string | null {
  if (!/^\d{5}$/.test(bank) || !/^\d{5}$/.test(counter) || !/^[\dA-Z]{11}$/.test(account)) return null;
  const weighted = 89n * BigInt(bank) + 15n * BigInt(counter) + 3n * BigInt(digitsOf(account));
  const key = 97n - (weighted % 97n);
  return `${bank}${counter}${account}${`${key}`.padStart(2, '0')}`;
}

/** An account with the day that its statement begins. */
export interface Account {
  reference: AccountReference;
  key: string;
  opening: Balance | null;
  warnings: string[];
}

/** A balance of record 01 or 07, and what is wrong with it, as sentences. */
export function readBalance(
  table: typeof OPENING | typeof CLOSING,
  { decimals, date, amount: found }: Pick<ReturnType<typeof cutOpening>, 'decimals' | 'date' | 'amount'>,
  line: FixedLine,
): { balance: Balance | null; warnings: string[] } {
  const warnings: string[] = [];
  const amount = readAmount(found, decimals);
  if (amount === null)
    warnings.push(
      `The amount of ${table.name} is ${quote(found)} with ${decimals === null ? 'no number of decimals' : `${decimals} decimals`}, in line ${line.line}. ${AMOUNT_RULE}`,
    );
  if (date === null) warnings.push(describeColumn(table, 'date', line));
  return { balance: amount === null ? null : { amount, date }, warnings };
}

/** Reads the old balance (record 01), which begins a statement. */
export function readAccount(line: FixedLine): Account {
  const values = cutOpening(line.text);
  const { bank, counter, account, currency } = values;
  const { balance, warnings } = readBalance(OPENING, values, line);
  const number = ribOf(bank, counter, account) ?? (account === '' ? null : account);
  if (!/^[A-Z]{3}$/.test(currency))
    warnings.push(
      `The currency of the old balance (01) is ${quote(currency)}. It must be three letters of ISO 4217.`,
    );
  return {
    reference: {
      iban: null,
      number,
      currency: /^[A-Z]{3}$/.test(currency) ? currency : null,
      bank: bank === '' ? null : bank,
    },
    key: keyOf(line),
    opening: balance,
    warnings,
  };
}
