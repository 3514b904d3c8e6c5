/** True if it looks like an IBAN. The check digits are not checked: banks send wrong ones too. */
export const looksLikeIban = (text: string): boolean => /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text);

/** Without spaces, in upper case; null if it does not look like an IBAN. */
export function readIban(text: string): string | null {
  const iban = text.slice(0, 100).replace(/\s/g, '').toUpperCase();
  return looksLikeIban(iban) ? iban : null;
}
