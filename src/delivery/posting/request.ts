import { SEALED, type SecretBox } from '../../database/secret-box.ts';
import { isOfEvents, WITHDRAWN_TRANSACTION } from '../../database/webhook-enums.ts';
import { VERSION } from '../../platform/config.ts';
import { type EndpointColumns, type SendingSettings, settingsIdOf } from '../../webhook-record/record.ts';
import type { EndpointHealth, NotifiedEvent, NotifiedMovement } from '../run/types.ts';
import { type BodyFormat, buildEventBody, buildSharedBody, CONTENT_TYPES } from './body.ts';
import { createSigner } from './signature.ts';
import type { PostRequest } from './types.ts';

/** Opens a webhook's sealed settings, and builds its signed POSTs: of a movement, of an event, and of a batch. */

/** A webhook's settings as MySQL stores them, with its secrets sealed, and the health of its endpoint. */
export interface SealedSettings extends SendingSettings, EndpointColumns {
  /** null: the delivery is pull. */
  secret: string | null;
  previous_secret: string | null;
  /** Of its customer. */
  api_secret: string;
  external_id: string | null;
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
  const settingsId = settingsIdOf(row);
  const open = (sealed: string) => secrets.open(sealed, SEALED.webhookSecret(settingsId));
  const sign = createSigner([
    open(row.secret),
    ...(row.previous_secret === null ? [] : [open(row.previous_secret)]),
  ]);
  const apiSecret = secrets.open(row.api_secret, SEALED.apiSecret(row.customer_id));
  const custom: Record<string, string> =
    row.headers === null ? {} : JSON.parse(secrets.open(row.headers, SEALED.webhookHeaders(settingsId)));
  const format: BodyFormat = { encoding: row.encoding, hashEncoding: row.hash_encoding };
  const endpoint = new URL(row.endpoint);
  const { origin } = endpoint;
  const path = endpoint.pathname + endpoint.search;
  const credentials = credentialsOf(custom);
  const customerHeaders = row.template_id === null ? {} : describeCustomer(row);
  const ordered = row.ordered === 1;
  const describe = isOfEvents(row.event)
    ? (content: unknown) => describeEvent(content as NotifiedEvent)
    : (content: unknown) => describeMovement(content as NotifiedMovement, row, format, apiSecret);

  return {
    origin,
    ordered,
    maxInFlight: ordered ? 1 : row.max_in_flight,
    rateLimit: row.rate_limit,
    batch: row.batch_max === null ? null : { max: row.batch_max, waitMs: row.batch_wait_ms },
    // A run begins only when the circuit is not open.
    health: toHealth(row, null),
    redact: (text) => credentials.reduce((rest, credential) => rest.replaceAll(credential, '…'), text),
    bytesOf: (content) => Buffer.byteLength(describe(content).body),
    request: (content, deliveryId, timestamp) =>
      toPost(eventIdOf(deliveryId, content), timestamp, describe(content)),
    batchRequest(events, batchId, timestamp) {
      const bodies = events.map(({ id, content }) => {
        const { body, headers } = describe(content);
        const event = headers[EVENT_HEADER] === undefined ? '' : `"event":"${headers[EVENT_HEADER]}",`;
        return `{"id":"${eventIdOf(id, content)}",${event}"body":${body}}`;
      });
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
        ...customerHeaders,
        ...headers,
      },
    };
  }
}

/** @param openUntil in milliseconds since 1970; null: the circuit is not open. */
export const toHealth = (row: EndpointColumns, openUntil: number | null): EndpointHealth => ({
  consecutiveFailures: row.consecutive_failures,
  failingSince: row.failing_since?.getTime() ?? null,
  failingDays: row.failing_days,
  circuitOpenings: row.circuit_openings,
  openUntil,
  recoverySuccesses: row.recovery_successes,
  consecutiveRejections: row.consecutive_rejections,
  batchLimit: row.batch_limit,
});

/**
 * The id of an event: the header `webhook-id` of its POST, or its id in a batch or a feed. Of the withdrawal of a movement, it has the id of the
 * movement: `msg_17-4711-withdrawn`.
 * @param deliveryId as `17-4711`.
 */
export function eventIdOf(deliveryId: string, content: NotifiedMovement | NotifiedEvent): string {
  if (!('withdraws' in content)) return `msg_${deliveryId}`;
  return `msg_${deliveryId.replace(/-.*/, '')}-${content.withdraws}-withdrawn`;
}

/** The name of the event. @returns undefined for a webhook that does not list withdrawals. */
export const eventNameOf = (
  { event, withdrawals }: Pick<SendingSettings, 'event' | 'withdrawals'>,
  { withdraws }: { withdraws?: string },
): string | undefined =>
  withdrawals === 0 ? undefined : withdraws === undefined ? event : WITHDRAWN_TRANSACTION;

/** The bytes of a batch beside the bodies of its events: about as many for each event, and for the batch itself. */
export const BATCH_OVERHEAD = 100;

/** The headers by which the endpoint of a template tells its customers apart. The external id is percent-encoded (RFC 3986, section 2.1). */
const describeCustomer = ({
  customer_id,
  external_id,
}: Pick<SealedSettings, 'customer_id' | 'external_id'>): Record<string, string> => ({
  'ledgerbell-customer': customer_id,
  ...(external_id === null ? {} : { 'ledgerbell-external-id': encodeURIComponent(external_id) }),
});

/** The body of a notification, and the headers that depend on its movement or event. */
interface Description {
  body: string;
  headers: Record<string, string>;
}

const EVENT_HEADER = 'ledgerbell-event';

function describeMovement(
  movement: NotifiedMovement,
  webhook: Pick<SendingSettings, 'event' | 'withdrawals'>,
  format: BodyFormat,
  apiSecret: string,
): Description {
  const event = eventNameOf(webhook, movement);
  return {
    body: buildSharedBody(movement, format, apiSecret),
    headers: {
      'content-type': CONTENT_TYPES[format.encoding],
      'ledgerbell-transaction-id': movement.withdraws ?? movement.transaction_id,
      'ledgerbell-date-issue': movement.date_issue,
      ...(event === undefined ? {} : { [EVENT_HEADER]: event }),
    },
  };
}

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
