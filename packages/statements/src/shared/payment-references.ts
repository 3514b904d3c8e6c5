/** References of payments in statements of several formats. */

/** A creditor reference of ISO 11649: RF, two check digits, up to 21 characters. */
const RF = /^RF\d{2}[A-Z0-9]{1,21}$/;
/** A QR reference of Swiss payments. */
const QRR = /^\d{27}$/;

/**
 * Reads a creditor reference with correct check digits: a reference of ISO 11649 (modulo 97 of ISO 7064), or the 27 digits of a QR
 * reference (recursive modulo 10; Swiss Implementation Guidelines QR-bill, annex B).
 * @returns the reference without spaces; undefined if the text is not a reference.
 */
export function readCreditorReference(text: string | undefined): string | undefined {
  if (text === undefined || text.length > 50) return undefined;
  const reference = text.replaceAll(/\s/g, '').toUpperCase();
  const isValid = RF.test(reference)
    ? hasCheckDigits(reference)
    : QRR.test(reference) && isQrReference(reference);
  return isValid ? reference : undefined;
}

function hasCheckDigits(reference: string): boolean {
  const digits = (reference.slice(4) + reference.slice(0, 4)).replace(/[A-Z]/g, (letter) =>
    String(letter.charCodeAt(0) - 55),
  );
  return BigInt(digits) % 97n === 1n;
}

const CARRIES = [0, 9, 4, 6, 8, 2, 7, 1, 3, 5];

function isQrReference(reference: string): boolean {
  let carry = 0;
  for (const digit of reference.slice(0, -1)) carry = CARRIES[(carry + Number(digit)) % 10] ?? 0;
  return (10 - carry) % 10 === Number(reference.at(-1)) && /[1-9]/.test(reference);
}

/** Texts that banks write into a mandatory reference that they do not have. */
const NO_REFERENCE = /^(?:NOTPROVIDED|NOT PROVIDED|NONREF|NOREF)$/i;

/** @returns a reference without blanks around it; undefined if there is none. */
export function readPaymentReference(text: string | undefined): string | undefined {
  const reference = text?.trim();
  return reference === undefined || reference === '' || NO_REFERENCE.test(reference) ? undefined : reference;
}

/**
 * @returns a rate as a decimal number with a point; undefined if the text is not a rate, or has more than ten digits on one side.
 */
export function readRate(text: string | undefined): string | undefined {
  const rate = text?.trim().replace(',', '.');
  return rate !== undefined && /^\d{1,10}(?:\.\d{1,10})?$/.test(rate) && /[1-9]/.test(rate)
    ? rate
    : undefined;
}

/** Keeps the details that are known. @returns undefined if none is, as for most entries of some formats. */
export function keepKnown<T extends object>(details: { [K in keyof T]: T[K] | undefined }): T | undefined {
  let known: Partial<T> | undefined;
  for (const name in details) {
    if (details[name] === undefined) continue;
    known ??= {};
    known[name] = details[name];
  }
  return known as T | undefined;
}
