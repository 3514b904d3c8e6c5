import { bankCodesOf } from '../../../packages/statements/src/iban-registry.ts';
import type { AccountReference } from '../../../packages/statements/src/statement.ts';

/**
 * Whether a statement is of an account: one rule for all formats, and for uploads, sources and accounts that files create. Currencies are
 * not compared here, because accounts of several currencies may have one number. Pure.
 */

/** The part of an account that statements are compared with. */
export interface ComparedAccount {
  iban: string | null;
  number: string | null;
  /** The name of its bank. Of an account that a file has created, this may be the bank's code. */
  bank?: string | null;
  /** The kind of account as OFX names it, such as SAVINGS. null: unknown. */
  type?: string | null;
}

/**
 * - `same`: the statement has the IBAN or the number of the account.
 * - `ending`: one of both has a number with which the other one's IBAN ends. Only if no other account has such an IBAN, or such a number, it
 *   is the same account.
 * - `other`: it is another account. `why` is null if they have nothing in common.
 */
export type SameAccount = { is: 'same' | 'ending' } | { is: 'other'; why: string | null };

const OTHER: SameAccount = { is: 'other', why: null };

/** Many IBANs may end with a shorter number. */
export const SHORTEST_NUMBER = 6;

/** An account takes the IBAN of a statement only if its number has so many digits. */
export const SHORTEST_OWN_NUMBER = 8;

/** ISO 13616. Some banks add the currency. */
const IBAN = /^[A-Z]{2}\d{2}[A-Z0-9]{11,33}$/;

/** Letters and digits of an IBAN or a number, in upper case. */
export const plain = (text: string | null): string =>
  (text ?? '').replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();

/** The same number with and without zeros at its beginning is one account. */
export const numberKey = (number: string | null): string => plain(number).replace(/^0+/, '');

/** Whether both have an IBAN, so that nothing else counts. */
export const haveTwoIbans = (reference: AccountReference, account: ComparedAccount): boolean =>
  IBAN.test(plain(reference.iban)) && plain(account.iban) !== '';

export function compareAccount(reference: AccountReference, account: ComparedAccount): SameAccount {
  const [iban, ownIban] = [plain(reference.iban), plain(account.iban)];
  if (haveTwoIbans(reference, account))
    return iban === ownIban || iban.startsWith(ownIban) ? { is: 'same' } : OTHER;
  const [number, ownNumber] = [numberKey(reference.number), numberKey(account.number)];
  if (iban !== '' && iban === ownIban) return { is: 'same' };
  const likeness = likenessOf({ iban, number }, { iban: ownIban, number: ownNumber });
  if (likeness === null) return OTHER;
  const why = contradiction(reference, account);
  return why === null ? { is: likeness } : { is: 'other', why };
}

function likenessOf(
  one: { iban: string; number: string },
  own: { iban: string; number: string },
): 'same' | 'ending' | null {
  if (one.number !== '' && (one.number === own.number || one.number === numberKey(own.iban))) return 'same';
  if (own.iban !== '')
    return one.number.length >= SHORTEST_NUMBER && own.iban.endsWith(one.number) ? 'ending' : null;
  return IBAN.test(one.iban) && own.number.length >= SHORTEST_OWN_NUMBER && one.iban.endsWith(own.number)
    ? 'ending'
    : null;
}

/** Why an equal number belongs to two accounts. null: nothing says so. */
function contradiction(reference: AccountReference, account: ComparedAccount): string | null {
  const [codes, own] = [codesOf(reference), codesOf(account)];
  const isOther =
    codes.some((code) => own.some((it) => it.length === code.length)) &&
    !codes.some((code) => own.includes(code));
  if (isOther) return `the bank code ${codes[0]} is not that of the account, ${own[0]}`;
  const { type } = reference;
  if (type !== undefined && account.type != null && type !== account.type)
    return `it is a ${type} account, and the account is ${account.type}`;
  return null;
}

/** The bank's codes, from the IBAN, or from a bank that is named by its code. */
function codesOf({ iban, bank }: { iban: string | null; bank?: string | null }): string[] {
  const ofIban = bankCodesOf(plain(iban));
  if (ofIban.length > 0) return ofIban;
  const code = plain(bank ?? null);
  return /^\d{3,11}$/.test(code) ? [code] : [];
}
