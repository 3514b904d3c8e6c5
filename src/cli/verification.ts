import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Checks the signatures of notifications that the command line receives. */

const MINUTE_SECONDS = 60;

/** How far `webhook-timestamp` may be from the receiver's clock. The limit prevents attackers from repeating an old request. */
const TOLERANCE_SECONDS = 5 * MINUTE_SECONDS;

/** Headers as Node provides them, with names in lower case. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The secrets a subscriber knows. Without the API secret, `hash` is not checked. */
export interface Secrets {
  /** `whsec_…`, as it was shown when the webhook was created. */
  secret: string;
  apiSecret?: string | undefined;
}

/** The body of an event. Only webhooks with the event OPERATIONAL or BALANCE_UPDATED get it. */
interface OperationalNotification {
  type: string;
  timestamp: string;
  data: Readonly<Record<string, unknown>>;
}

/** The result of checking a notification. */
export interface Checked {
  /** `webhook-id`, or in a batch the id of the event: the same on every attempt. */
  id: string;
  /** The fields of the body. Empty if the body could not be read, or belongs to an operational event. */
  fields: Readonly<Record<string, string>>;
  /** The operational event. null: the notification is of a movement, or could not be read. */
  event: OperationalNotification | null;
  /** Why the notification must not be trusted, in a sentence for a person. null: it is genuine. */
  problem: string | null;
  hash: 'verified' | 'wrong' | 'not checked';
}

/**
 * Checks a notification as a subscriber would: by the public specifications, with node:crypto. Uses none of the code that signs
 * notifications.
 * @param now milliseconds since 1970.
 */
export function checkNotification(
  headers: Headers,
  body: Buffer,
  { secret, apiSecret }: Secrets,
  now: number,
): Checked {
  const id = single(headers, 'webhook-id');
  const fields = readFields(single(headers, 'content-type'), body);
  const event = fields === null ? readEvent(body) : null;
  const problem = verifySignature(headers, body, secret, now);
  if (problem !== null) return { id, fields: fields ?? {}, event, problem, hash: 'not checked' };
  return checkContent(id, { fields, event, apiSecret });
}

/**
 * Checks a POST as a subscriber would. @returns the result for each event of a batch, with the id of the event; one result for a POST of one
 * event, and for a batch whose signature is wrong.
 */
export function checkPost(headers: Headers, body: Buffer, secrets: Secrets, now: number): Checked[] {
  const events = readBatch(body);
  if (events === null) return [checkNotification(headers, body, secrets, now)];
  const problem = verifySignature(headers, body, secrets.secret, now);
  if (problem !== null) {
    const id = single(headers, 'webhook-id');
    return [{ id, fields: {}, event: null, problem, hash: 'not checked' }];
  }
  return events.map(({ id, body: content }) => {
    const fields = toFields(content);
    const event = fields === null && isEvent(content) ? content : null;
    return checkContent(id, { fields, event, apiSecret: secrets.apiSecret });
  });
}

/** The id of the movement of a notification: in a header, and in a batch in the id of the event. null: it has none. */
export function transactionIdOf(headers: Headers, { id, event }: Checked): string | null {
  const ofHeader = single(headers, 'ledgerbell-transaction-id');
  if (ofHeader !== '') return ofHeader;
  return (event === null && /^msg_\d+-(\d+)(?:-withdrawn)?$/.exec(id)?.[1]) || null;
}

interface Content {
  fields: Record<string, string> | null;
  event: OperationalNotification | null;
  apiSecret: string | undefined;
}

/** Checks the content of an event whose signature is genuine. */
function checkContent(id: string, { fields, event, apiSecret }: Content): Checked {
  if (fields === null) {
    const problem = event === null ? 'The body is neither JSON nor a form.' : null;
    return { id, fields: {}, event, problem, hash: 'not checked' };
  }
  if (apiSecret === undefined) return { id, fields, event, problem: null, hash: 'not checked' };
  return verifyHash(fields, apiSecret)
    ? { id, fields, event, problem: null, hash: 'verified' }
    : {
        id,
        fields,
        event,
        problem: 'The hash in the body is not that of its fields and the API secret.',
        hash: 'wrong',
      };
}

/**
 * Checks `webhook-signature` (Standard Webhooks: one or more `v1,<base64>`, separated by spaces; HMAC-SHA256 over
 * `<id>.<timestamp>.<body>`) in constant time, and the age of the request.
 * @returns a sentence for a person that says what is wrong; null: nothing is wrong.
 */
export function verifySignature(headers: Headers, body: Buffer, secret: string, now: number): string | null {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    single(headers, name),
  );
  if (!id || !timestamp || !signatures) {
    return 'It is not signed: webhook-id, webhook-timestamp and webhook-signature are needed.';
  }
  if (!/^\d{1,12}$/.test(timestamp)) return 'webhook-timestamp is not a number of seconds.';
  const ageSeconds = Math.floor(now / 1_000) - Number(timestamp);
  if (Math.abs(ageSeconds) > TOLERANCE_SECONDS) {
    return `webhook-timestamp is ${Math.abs(ageSeconds)} s ${ageSeconds > 0 ? 'old' : 'in the future'}; at most ${TOLERANCE_SECONDS} s are accepted.`;
  }
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
  const matches = signatures.split(' ').map((signature) => equals(signature, expected));
  return matches.includes(true)
    ? null
    : 'No signature matches: the secret is another, or the body was changed.';
}

/** Says whether a text has the form of a webhook's secret. */
export const isSecret = (text: string): boolean =>
  /^whsec_(?:[A-Za-z0-9+/]{4}){6,}[A-Za-z0-9+/]{0,3}={0,2}$/.test(text);

/** Says whether `hash` is the base64 of the SHA-256 of these fields and the API secret, as bytes or as hexadecimal digits. */
function verifyHash(fields: Readonly<Record<string, string>>, apiSecret: string): boolean {
  const { dc, code, amount, balance, currency, description, hash = '' } = fields;
  const text = [dc, code, amount, balance, currency, description, apiSecret].join('');
  const digest = createHash('sha256').update(text, 'utf8').digest();
  const ofDigits = Buffer.from(digest.toString('hex')).toString('base64');
  return equals(hash, ofDigits) || equals(hash, digest.toString('base64'));
}

/** The fields of a JSON or form body, as text; null when it is neither, or when a value is not a string. Only account_id
 * is an integer in JSON. */
export function readFields(contentType: string, body: Buffer): Record<string, string> | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    if (contentType.startsWith('application/x-www-form-urlencoded')) {
      return Object.fromEntries(new URLSearchParams(text));
    }
    return toFields(JSON.parse(text));
  } catch {
    return null;
  }
}

function toFields(value: unknown): Record<string, string> | null {
  if (!isFields(value)) return null;
  // The hash does not cover what else the bank says.
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'extended')
      .map(([name, field]) => [name, String(field)]),
  );
}

interface BatchedEvent {
  id: string;
  body: unknown;
}

/** The events of a batch; null when the body is something else. */
function readBatch(body: Buffer): BatchedEvent[] | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof value !== 'object' || value === null || !('batch' in value) || !('events' in value))
      return null;
    const { events } = value;
    return Array.isArray(events) && events.every(isBatchedEvent) ? events : null;
  } catch {
    return null;
  }
}

const isBatchedEvent = (value: unknown): value is BatchedEvent =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  'body' in value;

/** The body of an operational event; null when it is something else. It has no `hash`, because the signature covers the whole body. */
function readEvent(body: Buffer): OperationalNotification | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return isEvent(value) ? value : null;
  } catch {
    return null;
  }
}

function isEvent(value: unknown): value is OperationalNotification {
  if (typeof value !== 'object' || value === null) return false;
  const { type, timestamp, data } = value as Record<string, unknown>;
  return (
    typeof type === 'string' && typeof timestamp === 'string' && typeof data === 'object' && data !== null
  );
}

function isFields(value: unknown): value is Record<string, string | number> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(
    ([name, field]) =>
      typeof field === 'string' ||
      (name === 'account_id' && Number.isInteger(field)) ||
      (name === 'extended' && typeof field === 'object' && field !== null),
  );
}

function single(headers: Headers, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}

/**
 * Compares in constant time. Compares the encoded texts, because Buffer skips characters that are not base64, so different texts could
 * decode to the same bytes. timingSafeEqual requires equal lengths. The length is not secret.
 */
function equals(sent: string, expected: string): boolean {
  const [a, b] = [Buffer.from(sent), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
