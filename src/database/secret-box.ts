import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Purposes that values are sealed for. */
export const SEALED = {
  apiSecret: 'customer API secret',
  webhookSecret: 'webhook secret',
  webhookHeaders: 'webhook headers',
  idempotentResponse: 'response to an idempotent request',
} as const;

/** Encrypts (seals) secrets before they are stored: AES-256-GCM (NIST SP 800-38D), with a new 96-bit nonce each time. */
export interface SecretBox {
  /** `purpose` is bound to the result as additional data: a value that was sealed for one column cannot be opened as another. */
  seal(plaintext: string, purpose: string): string;
  /** @throws {SecretBoxError} when the text was changed, or sealed with another SECRET_KEY or for another purpose. */
  open(sealed: string, purpose: string): string;
}

export class SecretBoxError extends Error {
  override name = 'SecretBoxError';
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param secretKey 32 bytes in base64, as SECRET_KEY holds it. */
export function createSecretBox(secretKey: string): SecretBox {
  const key = Buffer.from(secretKey, 'base64');
  return {
    seal(plaintext, purpose) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64');
    },
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed, 'base64');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        })
          .setAAD(Buffer.from(purpose))
          .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const body = bytes.subarray(NONCE_BYTES + TAG_BYTES);
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
      } catch {
        throw new SecretBoxError(
          `The stored ${purpose} cannot be decrypted: SECRET_KEY is not the one it was sealed with. Start with the former SECRET_KEY.`,
        );
      }
    },
  };
}
