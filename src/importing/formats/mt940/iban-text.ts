import { looksLikeIban } from '../../../accounts/iban.ts';

/** Characters of the shortest text that looks like an IBAN. */
const SHORTEST = 15;

/** Without spaces, in upper case; null if it does not look like an IBAN. Check digits are not checked: banks send wrong ones too. */
export function readIban(text: string): string | null {
  if (text.length < SHORTEST) return null;
  if (looksLikeIban(text)) return text;
  const iban = text.slice(0, 100).replace(/\s/g, '').toUpperCase();
  return looksLikeIban(iban) ? iban : null;
}
