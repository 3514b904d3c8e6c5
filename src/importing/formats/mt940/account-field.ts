import { isIban, looksLikeIban } from '../../../accounts/iban.ts';
import type { AccountReference } from '../statement.ts';

export const NO_ACCOUNT: AccountReference = { iban: null, number: null, currency: null, bank: null };

const CURRENCY_SUFFIX = /\d([A-Z]{3})$/;

/**
 * Reads :25: or :25P:. It holds an IBAN or a number, often with the bank's code or BIC before it and the currency behind it
 * ("12345678/0011223344EUR", "ABCDTRIS/12345/TRY"). In :25P:, the BIC is on a line of its own.
 */
export function readAccount(lines: readonly string[]): AccountReference {
  const [text = '', bic = ''] = lines.map((line) => line.trim());
  const parts = text.replace(/^\/+/, '').split('/');
  const last = parts.at(-1) ?? '';
  const ownCurrency = parts.length > 1 && /^[A-Z]{3}$/.test(last) ? last : null;
  if (ownCurrency !== null) parts.pop();
  const account = parts.pop() ?? '';
  const { number, currency } = splitCurrency(account);
  const iban = number.replace(/\s/g, '').toUpperCase();
  const hasIban = looksLikeIban(iban);
  return {
    iban: hasIban ? iban : null,
    number: hasIban || number === '' ? null : number,
    currency: ownCurrency ?? currency,
    bank: parts.join('/') || bic || null,
  };
}

/** An IBAN may end with three letters of its own. Its check digits tell. */
function splitCurrency(text: string): { number: string; currency: string | null } {
  const currency = CURRENCY_SUFFIX.exec(text)?.[1];
  if (currency === undefined || isIban(text.replace(/\s/g, ''))) return { number: text, currency: null };
  return { number: text.slice(0, -3).trim(), currency };
}
