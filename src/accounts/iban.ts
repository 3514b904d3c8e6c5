/** Whether a text without spaces has the general shape of an IBAN. Its check digits may be wrong. */
export const looksLikeIban = (text: string): boolean => /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text);

/**
 * Whether a text without spaces has the general shape of an IBAN and correct check digits (ISO 13616, modulo 97 of ISO 7064). The
 * length and format of each country are not checked.
 */
export function isIban(text: string): boolean {
  if (!looksLikeIban(text)) return false;
  const rearranged = text.slice(4) + text.slice(0, 4);
  const digits = rearranged.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return BigInt(digits) % 97n === 1n;
}

/** @returns the IBAN without spaces and in upper case; null if the text is none */
export function readIban(text: string): string | null {
  const iban = text.slice(0, 100).replace(/\s/g, '').toUpperCase();
  return isIban(iban) ? iban : null;
}
