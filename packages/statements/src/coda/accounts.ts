import type { MinorUnits } from '../statement.ts';
import { looksLikeIban, readIban } from '../values.ts';

export interface CodaAccount {
  iban: string | null;
  number: string | null;
  /** ISO 4217; null: three letters do not stand there. */
  currency: string | null;
}

/**
 * Reads the 37 characters of an account and its currency (Febelfin, CODA 2.6, 7.5).
 * @param structure `0`: a Belgian number of twelve digits. `2`: a Belgian IBAN. `1` and `3`: a foreign number, and a foreign IBAN.
 */
export function readAccount(structure: string, text: string): CodaAccount {
  const currencyAt = structure === '0' ? 13 : 34;
  const currency = text.slice(currencyAt, currencyAt + 3);
  const number = text.slice(0, structure === '0' ? 12 : structure === '2' ? 31 : 34).trim();
  const iban = structure === '0' ? ibanOf(number) : readIban(number);
  return {
    iban,
    number: iban === null && number !== '' ? number : null,
    currency: /^[A-Z]{3}$/.test(currency) ? currency : null,
  };
}

/**
 * The IBAN of a Belgian account number: `BE`, its check digits, and the number (ISO 13616, IBAN registry).
 * @returns null if the last two digits are not the check of the ten before them, modulo 97.
 */
export function ibanOf(number: string): string | null {
  if (!hasBelgianCheck(number)) return null;
  const check = 98n - (BigInt(`${number}111400`) % 97n);
  return `BE${String(check).padStart(2, '0')}${number}`;
}

/** Whether twelve digits end with the check of the ten before them: the rest modulo 97, and 97 for none. */
export function hasBelgianCheck(digits: string): boolean {
  if (!/^\d{12}$/.test(digits)) return false;
  const rest = Number(digits.slice(0, 10)) % 97;
  return Number(digits.slice(10)) === (rest === 0 ? 97 : rest);
}

/**
 * Reads the account of a counterparty. Its structure is not given: it is an IBAN, a Belgian number with its currency behind a blank, or any
 * other number of up to 34 characters.
 */
export function readCounterparty(text: string): { opponentIban: string | null; opponentId: string | null } {
  const [first = ''] = text.trim().split(' ', 1);
  if (looksLikeIban(first)) return { opponentIban: first, opponentId: null };
  const number = /^\d{12}$/.test(first) ? first : text.slice(0, 34).trim();
  return { opponentIban: null, opponentId: /[A-Z1-9]/i.test(number) ? number : null };
}

/** @param sign 0 for a credit, 1 for a debit. @returns null if the sign or the amount cannot be read. */
export const signedAmount = (sign: string, amount: MinorUnits | null): MinorUnits | null =>
  amount === null || !/^[01]$/.test(sign) ? null : sign === '1' ? -amount : amount;
