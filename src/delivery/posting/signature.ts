import { createHmac, hash } from 'node:crypto';

/** Signs notifications: the field `hash` in the body, and the header `webhook-signature`. */

/** The fields of a notification that its `hash` covers, as they appear in the body. */
interface HashedFields {
  dc: string | null;
  code: string | null;
  amount: string | null;
  balance: string | null;
  currency: string | null;
  description: string | null;
}

const SECRET_PREFIX = 'whsec_';

/**
 * The `hash` of a notification: SHA-256 over dc + code + amount + balance + currency + description + API secret in
 * UTF-8, without a separator. null counts as "".
 * @param encoding what base64 encodes. 'hex': the 64 lower-case hexadecimal digits. 'raw': the 32 bytes.
 * @returns 88 characters of base64 for 'hex', 44 for 'raw'.
 */
export function movementHash(fields: HashedFields, apiSecret: string, encoding: 'hex' | 'raw'): string {
  const { dc, code, amount, balance, currency, description } = fields;
  const text = `${dc ?? ''}${code ?? ''}${amount ?? ''}${balance ?? ''}${currency ?? ''}${description ?? ''}${apiSecret}`;
  // `hash` takes half the time of createHash, and btoa on ASCII takes less time than a Buffer.
  return encoding === 'raw' ? hash('sha256', text, 'base64') : btoa(hash('sha256', text, 'hex'));
}

/**
 * Creates the signer of one webhook, for the header `webhook-signature`: one `v1,<base64 HMAC-SHA256>` per secret,
 * separated by a space, over `<id>.<timestamp>.<body>`
 * (https://github.com/standard-webhooks/standard-webhooks, "Webhook metadata" and "Signature scheme").
 * @param secrets `whsec_<base64 of 24 to 64 bytes>`; two during a rotation. They are decoded only once, here.
 * @returns a function of the exact `webhook-id`, `webhook-timestamp` (whole seconds since 1970) and body that are sent.
 * @throws {Error} when there is no secret, or a secret is malformed. The message never contains the secret.
 */
export function createSigner(
  secrets: readonly string[],
): (id: string, timestampSeconds: number, body: string) => string {
  if (secrets.length === 0) throw new Error('A webhook needs at least one secret to sign with.');
  const keys = secrets.map(decodeSecret);
  return function sign(id, timestampSeconds, body) {
    const content = `${id}.${timestampSeconds}.${body}`;
    return keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ');
  };
}

function decodeSecret(secret: string, index: number): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  const key = Buffer.from(encoded, 'base64');
  // Buffer skips characters that are not base64. If encoding the key again gives the same text, nothing was skipped.
  if (key.toString('base64') !== encoded || key.length < 24 || key.length > 64) {
    throw new Error(
      `Webhook secret number ${index + 1} is not "whsec_" followed by the base64 of 24 to 64 bytes.`,
    );
  }
  return key;
}
