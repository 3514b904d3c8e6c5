/** True if it looks like an IBAN. The check digits are not checked: banks send wrong ones too. */
export const looksLikeIban = (text: string): boolean => /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text);

/** True if the check digits are right (ISO 13616: the number modulo 97 is 1). */
export function hasIbanChecksum(text: string): boolean {
  if (!looksLikeIban(text)) return false;
  const digits = (text.slice(4) + text.slice(0, 4)).replace(/[A-Z]/g, (letter) => `${parseInt(letter, 36)}`);
  return BigInt(digits) % 97n === 1n;
}

/** Without spaces, in upper case; null if it does not look like an IBAN. */
export function readIban(text: string): string | null {
  const iban = text.slice(0, 100).replace(/\s/g, '').toUpperCase();
  return looksLikeIban(iban) ? iban : null;
}
