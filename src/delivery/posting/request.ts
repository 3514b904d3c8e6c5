import { createHmac, hash } from 'node:crypto';
import { showAmount } from '../../../packages/statements/src/amounts.ts';
import { SEALED, type SecretBox } from '../../database/secret-box.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import { VERSION } from '../../platform/config.ts';
import type { EndpointColumns, SendingSettings } from '../../webhook-record/record.ts';
import type { EndpointHealth, NotifiedEvent, NotifiedMovement } from '../run/types.ts';
import type { PostRequest } from './types.ts';

/** Opens a webhook's sealed settings, and builds the signed POST for a movement. */

/** A webhook's settings as MySQL stores them, with its secrets sealed, and the health of its endpoint. */
export interface SealedSettings extends SendingSettings, EndpointColumns {
  /** null: the delivery is pull. */
  secret: string | null;
  previous_secret: string | null;
  api_secret: string;
}

/** The settings that a run needs in order to send for a webhook. */
export interface Settings {
  /** The origin of the endpoint. */
  origin: string;
  ordered: boolean;
  maxInFlight: number;
  /** POSTs per second; null: no limit. */
  rateLimit: number | null;
  health: EndpointHealth;
  /**
   * Builds the whole POST for one movement or event, signed at `timestamp` (seconds since 1970).
   * @param id of the delivery.
   */
  request(content: NotifiedMovement | NotifiedEvent, id: string, timestamp: number): PostRequest;
  /** How deliveries are put together; null: each is a POST of its own. */
  batch: { max: number; waitMs: number } | null;
  /** The bytes of the body of one movement or event. */
  bytesOf(content: NotifiedMovement | NotifiedEvent): number;
  /**
   * Builds the whole POST for a batch.
   * @param events with the ids of their deliveries.
   * @param batchId another one for each POST.
   */
  batchRequest(
    events: readonly { id: string; content: NotifiedMovement | NotifiedEvent }[],
    batchId: string,
    timestamp: number,
  ): PostRequest;
  /** Hides the values of the custom headers in a text, so that they do not get into the log if an endpoint echoes them. */
  redact(text: string): string;
}

/**
 * Opens a webhook's settings.
 * @throws {SecretBoxError} when SECRET_KEY is not the one that its secrets were sealed with.
 * @throws {Error} when its events are pulled, because there is no endpoint then.
 */
export function openSettings(row: SealedSettings, secrets: SecretBox): Settings {
  if (row.endpoint === null || row.secret === null) throw new Error(`webhook ${row.id} has no endpoint`);
  const open = (sealed: string) => secrets.open(sealed, SEALED.webhookSecret(row.id));
  const sign = createSigner([
    open(row.secret),
    ...(row.previous_secret === null ? [] : [open(row.previous_secret)]),
  ]);
  const apiSecret = secrets.open(row.api_secret, SEALED.apiSecret(row.customer_id));
  const custom: Record<string, string> =
    row.headers === null ? {} : JSON.parse(secrets.open(row.headers, SEALED.webhookHeaders(row.id)));
  const format: BodyFormat = { encoding: row.encoding, hashEncoding: row.hash_encoding };
  const endpoint = new URL(row.endpoint);
  const { origin } = endpoint;
  const path = endpoint.pathname + endpoint.search;
  const credentials = credentialsOf(custom);
  const ordered = row.ordered === 1;
  const describe = isOfEvents(row.event)
    ? (content: unknown) => describeEvent(content as NotifiedEvent)
    : (content: unknown) => describeMovement(content as NotifiedMovement, format, apiSecret);

  return {
    origin,
    ordered,
    maxInFlight: ordered ? 1 : row.max_in_flight,
    rateLimit: row.rate_limit,
    batch: row.batch_max === null ? null : { max: row.batch_max, waitMs: row.batch_wait_ms },
    health: {
      consecutiveFailures: row.consecutive_failures,
      failingSince: row.failing_since?.getTime() ?? null,
      failingDays: row.failing_days,
      circuitOpenings: row.circuit_openings,
      // null, because a run begins only when the circuit is not open.
      openUntil: null,
      recoverySuccesses: row.recovery_successes,
      consecutiveRejections: row.consecutive_rejections,
      batchLimit: row.batch_limit,
    },
    redact: (text) => credentials.reduce((rest, credential) => rest.replaceAll(credential, '…'), text),
    bytesOf: (content) => Buffer.byteLength(describe(content).body),
    request: (content, deliveryId, timestamp) => toPost(eventIdOf(deliveryId), timestamp, describe(content)),
    batchRequest(events, batchId, timestamp) {
      const bodies = events.map(
        ({ id, content }) => `{"id":"${eventIdOf(id)}","body":${describe(content).body}}`,
      );
      const body = `{"batch":"${batchId}","events":[${bodies.join(',')}]}`;
      const headers = { 'content-type': CONTENT_TYPES.json };
      return { ...toPost(batchId, timestamp, { body, headers }), isBatch: true };
    },
  };

  function toPost(id: string, timestamp: number, { body, headers }: Description): PostRequest {
    return {
      origin,
      path,
      body,
      headers: {
        ...custom,
        'user-agent': `Ledgerbell/${VERSION}`,
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': sign(id, timestamp, body),
        ...headers,
      },
    };
  }
}

/** The id of an event: the header `webhook-id` of its POST, or its id in a batch. @param deliveryId as `17-4711`. */
export const eventIdOf = (deliveryId: string): string => `msg_${deliveryId}`;

/** The bytes of a batch beside the bodies of its events: about as many for each event, and for the batch itself. */
export const BATCH_OVERHEAD = 100;

/** The body of a notification, and the headers that depend on its movement or event. */
interface Description {
  body: string;
  headers: Record<string, string>;
}

const describeMovement = (
  movement: NotifiedMovement,
  format: BodyFormat,
  apiSecret: string,
): Description => ({
  body: buildSharedBody(movement, format, apiSecret),
  headers: {
    'content-type': CONTENT_TYPES[format.encoding],
    'ledgerbell-transaction-id': movement.transaction_id,
    'ledgerbell-date-issue': movement.date_issue,
  },
});

const describeEvent = (event: NotifiedEvent): Description => ({
  body: buildEventBody(event),
  headers: { 'content-type': CONTENT_TYPES.json },
});

/** Shorter values are not secrets, and would also match ordinary text. */
const SHORTEST_CREDENTIAL = 8;

/** Each whole value before its words. The words count too, because an endpoint may repeat a token without the "Bearer" before it. */
const credentialsOf = (headers: Record<string, string>): string[] =>
  Object.values(headers)
    .flatMap((value) => [value, ...value.split(/\s+/)])
    .filter(({ length }) => length >= SHORTEST_CREDENTIAL);

/** Builds the body of a notification. */

/** The body format that the webhook's owner has chosen. */
export interface BodyFormat {
  encoding: 'json' | 'form';
  hashEncoding: 'hex' | 'raw';
}

export const CONTENT_TYPES = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
} as const;

/**
 * Builds the body: twelve fields in this order, then `extended` if the webhook's owner wants it. null becomes "" in the body and in the
 * hash, so that the hash covers what is sent. The same movement gives the same bytes on every attempt.
 */
export function buildBody(
  movement: NotifiedMovement,
  { encoding, hashEncoding }: BodyFormat,
  apiSecret: string,
): string {
  const { dc, currency, account_id, account, bank } = movement;
  const amount = showAmount(movement.amount, currency);
  const code = movement.code ?? '';
  const balance = movement.balance === null ? '' : showAmount(movement.balance, currency);
  const description = movement.description ?? '';
  const fields = {
    dc,
    code,
    amount,
    balance,
    currency,
    description,
    account_id: Number(account_id),
    account,
    bank,
    opponent_id: movement.opponent_id ?? '',
    opponent_iban: movement.opponent_iban ?? '',
    hash: movementHash({ dc, code, amount, balance, currency, description }, apiSecret, hashEncoding),
  };
  const { extended } = movement;
  return encoding === 'json'
    ? JSON.stringify(extended === undefined ? fields : { ...fields, extended })
    : new URLSearchParams({ ...fields, account_id }).toString();
}

const bodies = new WeakMap<NotifiedMovement, Map<string, string>>();

/** Like `buildBody`, but builds the body only once for all webhooks of a customer that share the movement and the format. */
export function buildSharedBody(movement: NotifiedMovement, format: BodyFormat, apiSecret: string): string {
  let made = bodies.get(movement);
  if (made === undefined) {
    made = new Map();
    bodies.set(movement, made);
  }
  const key = `${format.encoding} ${format.hashEncoding} ${apiSecret}`;
  let body = made.get(key);
  if (body === undefined) {
    body = buildBody(movement, format, apiSecret);
    made.set(key, body);
  }
  return body;
}

/** Builds the notification of an operational event. */

/** Builds the payload that Standard Webhooks recommends. The same event gives the same bytes on every attempt. */
export const buildEventBody = ({ type, timestamp, data }: NotifiedEvent): string =>
  `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${data}}`;

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
