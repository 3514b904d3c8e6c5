import { Webhook } from 'standardwebhooks';
import { equals } from './equals.ts';
import { hasRightHash } from './hash.ts';
import type { Notification } from './notification.ts';
import { isMovementContent, parseBody, toNotification } from './parse.ts';
import { VerificationError } from './verification-error.ts';

/** The headers of a request: those of `fetch`, or an object as Node has it. Case does not matter. */
export type RequestHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request as it came. The signature covers the bytes of the body, so nothing may have parsed it. */
export interface ReceivedRequest {
  headers: RequestHeaders;
  body: Uint8Array | string;
}

/** What a receiver knows, to verify notifications. */
export interface VerifierOptions {
  /** The webhook's secret, `whsec_…`. */
  secret?: string | undefined;
  /** In place of `secret`: several, for several webhooks or during a rotation. A notification must match one of them. */
  secrets?: readonly string[];
  /** The customer's API secret. With it, the field `hash` of movements is verified too. */
  apiSecret?: string;
  /** How many seconds `webhook-timestamp` may be from the clock. Default: 300, as Standard Webhooks recommends. */
  toleranceSeconds?: number;
  /** The clock: seconds since 1970. */
  now?: () => number;
}

/**
 * Verifies a request, and reads its body.
 * @throws {VerificationError} when it is not a genuine notification.
 */
export type Verify = (request: ReceivedRequest) => Promise<Notification>;

const SECRET = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;

/**
 * Creates a verifier of notifications. It checks the signature (https://www.standardwebhooks.com) and the time, and with
 * `apiSecret` the `hash` of movements.
 * @throws {Error} when there is no secret, or a malformed one. The message does not contain it.
 */
export function createVerifier(options: VerifierOptions): Verify {
  const {
    secret,
    secrets = secret === undefined ? [] : [secret],
    apiSecret,
    toleranceSeconds = 300,
  } = options;
  const { now = () => Date.now() / 1_000 } = options;
  if (secrets.length === 0) throw new Error('A receiver needs the secret of a webhook: secret or secrets.');
  const webhooks = secrets.map(openSecret);

  return async function verify(request) {
    const [id, timestamp, signatures] = [
      readHeader(request.headers, 'webhook-id'),
      readHeader(request.headers, 'webhook-timestamp'),
      readHeader(request.headers, 'webhook-signature'),
    ];
    const sentAt = checkTime(timestamp, Math.floor(now()), toleranceSeconds);
    const body = readText(request.body);
    // Not `verify` of the library: it takes neither a clock nor a tolerance.
    const expected = webhooks.map((webhook) => webhook.sign(id, new Date(sentAt * 1_000), body));
    const isGenuine = signatures.split(' ').some((sent) => expected.some((right) => equals(sent, right)));
    if (!isGenuine)
      throw new VerificationError(
        'wrong-signature',
        'No signature matches: the secret is another one, or the body, the id or the time was changed.',
      );
    const content = parseBody(body);
    if (apiSecret !== undefined && isMovementContent(content) && !(await hasRightHash(content, apiSecret)))
      throw new VerificationError(
        'wrong-hash',
        'The hash in the body is not that of its fields and the API secret.',
      );
    return toNotification(id, sentAt, content);
  };
}

function openSecret(secret: string, index: number): Webhook {
  try {
    if (SECRET.test(secret)) return new Webhook(secret);
  } catch {
    // Not base64.
  }
  throw new Error(`Webhook secret number ${index + 1} is not "whsec_" followed by base64.`);
}

/**
 * Reads a header of a request.
 * @param name in lower case.
 * @returns undefined when it is missing or repeated.
 */
export function findHeader(headers: RequestHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : undefined;
}

function readHeader(headers: RequestHeaders, name: string): string {
  const value = findHeader(headers, name);
  if (value) return value;
  throw new VerificationError('missing-header', `The request is not signed: it has no ${name}.`);
}

function checkTime(timestamp: string, now: number, tolerance: number): number {
  if (!/^[1-9]\d{0,11}$/.test(timestamp))
    throw new VerificationError('malformed-header', 'webhook-timestamp is not a number of seconds.');
  const age = now - Number(timestamp);
  if (age > tolerance)
    throw new VerificationError(
      'timestamp-too-old',
      `webhook-timestamp is ${age} s old. At most ${tolerance} s are accepted.`,
    );
  if (-age > tolerance)
    throw new VerificationError(
      'timestamp-too-new',
      `webhook-timestamp is ${-age} s in the future. At most ${tolerance} s are accepted.`,
    );
  return Number(timestamp);
}

function readText(body: Uint8Array | string): string {
  if (typeof body === 'string') return body;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new VerificationError('malformed-body', 'The body is not UTF-8.');
  }
}
