import { Webhook } from 'standardwebhooks';
import { equals } from './equals.ts';
import { hasRightHash } from './hash.ts';
import type { Batch, Notification, RefusedEvent, Sent } from './notification.ts';
import { isBatchContent, isMovementContent, parseBody, toContent, toNotification } from './parse.ts';
import { bytesOf, findHeader, type ReceivedRequest, type RequestHeaders } from './request.ts';
import { VerificationError } from './verification-error.ts';

/** The secrets of one installation of Ledgerbell. */
export interface InstallationSecrets {
  /** The webhook's secret, `whsec_…`. */
  secret?: string | undefined;
  /** More secrets, for several webhooks or during a rotation. A notification must match `secret` or one of them. undefined is left out. */
  secrets?: readonly (string | undefined)[];
  /** The customer's API secret. With it, the field `hash` of movements is verified too. */
  apiSecret?: string | undefined;
}

/** What a receiver knows, to verify notifications. */
export interface VerifierOptions extends InstallationSecrets {
  /**
   * More installations of Ledgerbell, by a name that you choose. Each installation counts its ids for itself, so the name keeps them apart:
   * `notification.installation` and the keys of the store have it.
   */
  installations?: Readonly<Record<string, InstallationSecrets>>;
  /** How many seconds `webhook-timestamp` may be from the clock. Default: 300, as Standard Webhooks recommends. */
  toleranceSeconds?: number;
  /** The clock: seconds since 1970. */
  now?: () => number;
}

/**
 * Verifies a request, and reads its body. In a batch, an event whose hash or body is wrong is `refused`, and the others are read.
 * @throws {VerificationError} when it is not a genuine notification.
 * @throws {UnreadableRequestError} when the request is not as it came, so that nothing can be verified.
 */
export type Verify = (request: ReceivedRequest) => Promise<Notification | Batch>;

const SECRET = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;
const INSTALLATION = /^[\w-]{1,32}$/;

/**
 * Creates a verifier of notifications. It checks the signature (https://www.standardwebhooks.com) and the time, and with
 * `apiSecret` the `hash` of movements.
 * @throws {Error} when there is no secret, a malformed one, or one that two installations have. The message does not contain it.
 */
export function createVerifier(options: VerifierOptions): Verify {
  const { toleranceSeconds = 300, now = () => Date.now() / 1_000 } = options;
  const installations = openInstallations(options);

  return async function verify(request) {
    const [id, timestamp, signatures] = [
      readHeader(request.headers, 'webhook-id'),
      readHeader(request.headers, 'webhook-timestamp'),
      readHeader(request.headers, 'webhook-signature'),
    ];
    const sentAt = checkTime(timestamp, Math.floor(now()), toleranceSeconds);
    const body = readText(bytesOf(request));
    const sent = signatures.split(' ');
    // Not `verify` of the library: it takes neither a clock nor a tolerance.
    const sign = (webhook: Webhook) => webhook.sign(id, new Date(sentAt * 1_000), body);
    const sender = installations.find(({ webhooks }) =>
      webhooks.map(sign).some((right) => sent.some((signature) => equals(signature, right))),
    );
    if (sender === undefined)
      throw new VerificationError(
        'wrong-signature',
        'No signature matches: the secret is another one, or the body, the id or the time was changed.',
      );
    const { name, apiSecret } = sender;
    const content = parseBody(body);
    const common = { sentAt, installation: name, customer: readCustomer(request.headers) };
    if (!isBatchContent(content)) return read({ id, ...common }, content, apiSecret);
    const events = content.events.map((event) =>
      read({ id: event.id, ...common }, event.body, apiSecret).catch((error: unknown) =>
        toRefused({ id: event.id, ...common }, error),
      ),
    );
    return { kind: 'batch', id, ...common, events: await Promise.all(events) };
  };
}

/** @throws {VerificationError} `malformed-body`, `wrong-hash` */
async function read(sent: Sent, body: unknown, apiSecret: string | undefined): Promise<Notification> {
  const content = toContent(body);
  if (apiSecret !== undefined && isMovementContent(content) && !(await hasRightHash(content, apiSecret)))
    throw new VerificationError(
      'wrong-hash',
      'The hash in the body is not that of its fields and the API secret.',
    );
  return toNotification(sent, content);
}

function toRefused(sent: Sent, error: unknown): RefusedEvent {
  if (!(error instanceof VerificationError)) throw error;
  return { kind: 'refused', ...sent, reason: error.reason, message: error.message };
}

/** One installation: null is the name of the one whose secrets stand at the top. */
interface Installation {
  name: string | null;
  webhooks: readonly Webhook[];
  apiSecret: string | undefined;
}

function openInstallations({ installations = {}, ...first }: VerifierOptions): Installation[] {
  const opened = Object.entries(installations).map(([name, secrets]) => {
    if (INSTALLATION.test(name)) return openInstallation(name, secrets);
    throw new Error(`The installation "${name}" needs a name of 1 to 32 letters, digits, "-" and "_".`);
  });
  if (first.secret !== undefined || first.secrets !== undefined || opened.length === 0)
    opened.unshift(openInstallation(null, first));
  const owned = opened.flatMap(({ webhooks }) => [...new Set(webhooks.map(fingerprint))]);
  if (new Set(owned).size < owned.length)
    throw new Error('Two installations have the same webhook secret. Each secret belongs to one.');
  return opened;
}

const fingerprint = (webhook: Webhook) => webhook.sign('', new Date(0), '');

function openInstallation(name: string | null, options: InstallationSecrets): Installation {
  const { secret, secrets = [], apiSecret } = options;
  const given = secrets.flatMap((it, index): [string, string][] =>
    it === undefined ? [] : [[`secrets[${index}]`, it]],
  );
  if (secret !== undefined) given.unshift(['secret', secret]);
  const where = name === null ? '' : ` of the installation "${name}"`;
  if (given.length === 0)
    throw new Error(`A receiver needs the secret of a webhook: secret or secrets${where}.`);
  return { name, webhooks: given.map(([key, it]) => openSecret(`${key}${where}`, it)), apiSecret };
}

function openSecret(name: string, secret: string): Webhook {
  try {
    if (SECRET.test(secret)) return new Webhook(secret);
  } catch {
    // Not base64.
  }
  throw new Error(
    `${name} is not "whsec_" followed by base64. Give the secret of the webhook as it was shown.`,
  );
}

/** @throws {VerificationError} `malformed-header` when a header is not as Ledgerbell sends it. */
function readCustomer(headers: RequestHeaders): Sent['customer'] {
  const id = findHeader(headers, 'ledgerbell-customer');
  const encoded = findHeader(headers, 'ledgerbell-external-id');
  if (id === undefined) return null;
  if (!/^[1-9]\d{0,18}$/.test(id))
    throw new VerificationError('malformed-header', 'ledgerbell-customer is not the id of a customer.');
  if (encoded === undefined) return { id, externalId: null };
  try {
    return { id, externalId: decodeURIComponent(encoded) };
  } catch {
    throw new VerificationError('malformed-header', 'ledgerbell-external-id is not percent-encoded.');
  }
}

function readHeader(headers: RequestHeaders, name: string): string {
  const value = findHeader(headers, name);
  if (value !== undefined) return value;
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

function readText(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new VerificationError('malformed-body', 'The body is not UTF-8.');
  }
}
