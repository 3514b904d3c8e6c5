import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from './transaction.ts';

/** Seals the secrets in MySQL with SECRET_KEY, and opens them. */

/** Where a sealed value is stored. A value that was sealed for one location cannot be opened in another. */
export interface SecretLocation {
  /** Table and column. */
  column: string;
  /** Identifies the row in its table, and never changes. */
  row: string;
}

/** The places of sealed values. A new one has to be added to secrets.ts too. */
export const SEALED = {
  /** Also the location of `previous_secret`, because a rotation moves the sealed secret there unchanged. */
  webhookSecret: (webhookId: string): SecretLocation => ({ column: 'webhooks.secret', row: webhookId }),
  webhookHeaders: (webhookId: string): SecretLocation => ({ column: 'webhooks.headers', row: webhookId }),
  sourceCredentials: (sourceId: string): SecretLocation => ({ column: 'sources.credentials', row: sourceId }),
  apiSecret: (customerId: string): SecretLocation => ({ column: 'customers.api_secret', row: customerId }),
  idempotentResponse: (customerId: string, key: string): SecretLocation => ({
    column: 'idempotency_keys.response',
    row: `${customerId} ${key}`,
  }),
  keyCheck: (keyId: string): SecretLocation => ({ column: 'installation.sealed', row: keyId }),
};

/**
 * Encrypts (seals) secrets before they are stored: AES-256-GCM (NIST SP 800-38D), with a new 96-bit nonce each time, and the
 * location as additional data. A sealed value begins with the id of its key and a dot.
 */
export interface SecretBox {
  /** The id of SECRET_KEY: 16 hexadecimal digits that do not reveal the key. */
  keyId: string;
  /** Seals with SECRET_KEY. */
  seal(plaintext: string, location: SecretLocation): string;
  /**
   * Opens a value that was sealed with SECRET_KEY or a key in SECRET_KEY_PREVIOUS.
   * @throws {SecretBoxError} when the value was sealed with another key or for another location, or was changed.
   */
  open(sealed: string, location: SecretLocation): string;
  /** Authenticates a text that is not secret, such as a cursor: 22 characters of base64url, the first 128 bits of an HMAC-SHA256. */
  authenticate(text: string): string;
  /** Whether `authenticate` has made the code for this text, with SECRET_KEY or a key in SECRET_KEY_PREVIOUS. */
  isAuthentic(text: string, code: string): boolean;
}

export class SecretBoxError extends Error {
  override name = 'SecretBoxError';
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * @param secretKey 32 bytes in base64, as SECRET_KEY holds it.
 * @param previousKeys the keys in SECRET_KEY_PREVIOUS. They only open values.
 */
export function createSecretBox(secretKey: string, previousKeys: readonly string[] = []): SecretBox {
  const own = readKey(secretKey);
  const keys = new Map([...previousKeys.map(readKey), own].map(({ id, bytes }) => [id, bytes]));
  // A key of its own for each purpose (NIST SP 800-57 part 1, section 5.2).
  const codeKeys = [own.bytes, ...[...keys.values()].filter((it) => it !== own.bytes)].map((key) =>
    createHmac('sha256', key).update('key of the codes of texts').digest(),
  );
  return {
    keyId: own.id,
    seal(plaintext, location) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', own.bytes, nonce).setAAD(toBytes(location));
      const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return `${own.id}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')}`;
    },
    open(sealed, location) {
      const [id = '', text = ''] = sealed.split('.');
      const key = keys.get(id);
      if (key === undefined) {
        throw new SecretBoxError(
          `A value in ${location.column} cannot be decrypted: SECRET_KEY is not the one it was sealed with. Start with the former SECRET_KEY, or put that one into SECRET_KEY_PREVIOUS.`,
        );
      }
      const bytes = Buffer.from(text, 'base64');
      try {
        const nonce = bytes.subarray(0, NONCE_BYTES);
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(toBytes(location))
          .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const body = bytes.subarray(NONCE_BYTES + TAG_BYTES);
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
      } catch {
        throw new SecretBoxError(
          `A value in ${location.column} cannot be decrypted, although SECRET_KEY is right: it was changed in the database, or copied from another row.`,
        );
      }
    },
    authenticate: (text) => codeOf(codeKeys[0] as Buffer, text).toString('base64url'),
    isAuthentic(text, code) {
      const bytes = Buffer.from(code, 'base64url');
      return bytes.length === CODE_BYTES && codeKeys.some((key) => timingSafeEqual(codeOf(key, text), bytes));
    },
  };
}

const CODE_BYTES = 16;

const codeOf = (key: Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest().subarray(0, CODE_BYTES);

/** No two locations have the same bytes, because columns have no spaces. */
const toBytes = ({ column, row }: SecretLocation): Buffer => Buffer.from(`${column} ${row}`);

function readKey(secretKey: string): { id: string; bytes: Buffer } {
  const bytes = Buffer.from(secretKey, 'base64');
  const id = createHmac('sha256', bytes).update('id of a ledgerbell key').digest('hex').slice(0, 16);
  return { id, bytes };
}

/** Index: the primary key. */
const ADD_KEY = 'INSERT IGNORE INTO installation (key_id, sealed) VALUES (?, ?)';

/**
 * The lock waits for a process that is adding its key. So if two processes start with keys that do not know each other, one is
 * refused.
 */
const READ_KEYS = 'SELECT key_id, sealed FROM installation LOCK IN SHARE MODE';

const FORGET_OTHER_KEYS = 'DELETE FROM installation WHERE key_id <> ?';

/**
 * Checks that this process knows every key in use, and adds its own SECRET_KEY to them. Without one of the keys, the process could
 * not sign, and would seal with a key that the other processes do not have.
 * @throws {SecretBoxError} when a key in use is neither its SECRET_KEY nor in its SECRET_KEY_PREVIOUS. Then nothing is changed.
 */
export async function checkSecretKey(database: DataSource, secrets: SecretBox): Promise<void> {
  await inTransaction(database, async (sql) => {
    await sql.query(ADD_KEY, [secrets.keyId, secrets.seal('ledgerbell', SEALED.keyCheck(secrets.keyId))]);
    const rows = await sql.query<{ key_id: string; sealed: string }[]>(READ_KEYS);
    for (const { key_id, sealed } of rows) secrets.open(sealed, SEALED.keyCheck(key_id));
  });
}

/** Makes SECRET_KEY the only key in use. Call it when no value is sealed with another key any more. */
export async function forgetPreviousKeys(sql: Sql, { keyId }: SecretBox): Promise<void> {
  await sql.query(FORGET_OTHER_KEYS, [keyId]);
}
