import { equals } from './equals.ts';
import type { Movement } from './notification.ts';

/** The fields that the hash covers. */
export type HashedFields = Pick<Movement, 'dc' | 'code' | 'amount' | 'balance' | 'currency' | 'description'>;

/**
 * Computes the field `hash`: SHA-256 over the six fields and the API secret in UTF-8, without a separator
 * (docs/receiving/hash.md).
 * @param encoding what is put into base64. `hex`: the 64 lower-case hexadecimal digits; `raw`: the 32 bytes.
 * @returns 88 characters of base64 for `hex`, 44 for `raw`.
 */
export async function movementHash(
  fields: HashedFields,
  apiSecret: string,
  encoding: 'hex' | 'raw' = 'hex',
): Promise<string> {
  const { dc, code, amount, balance, currency, description } = fields;
  const text = [dc, code, amount, balance, currency, description, apiSecret].join('');
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  const bytes = [...new Uint8Array(digest)];
  return btoa(
    encoding === 'raw'
      ? String.fromCharCode(...bytes)
      : bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(''),
  );
}

/** Whether the `hash` of a movement is right, in either of its two encodings. It compares in constant time. */
export async function hasRightHash(movement: Movement, apiSecret: string): Promise<boolean> {
  const [hex, raw] = [
    await movementHash(movement, apiSecret, 'hex'),
    await movementHash(movement, apiSecret, 'raw'),
  ];
  return equals(movement.hash, hex) || equals(movement.hash, raw);
}
