/**
 * @returns the IBAN without spaces and in upper case; null if the text is none, or its check digits are wrong
 *   (ISO 13616: the number modulo 97 is 1)
 */
export function readIban(text: string): string | null {
  const iban = text.slice(0, 100).replace(/\s/g, '').toUpperCase();
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban)) return null;
  const digits = (iban.slice(4) + iban.slice(0, 4)).replace(/[A-Z]/g, (letter) => `${parseInt(letter, 36)}`);
  return BigInt(digits) % 97n === 1n ? iban : null;
}
