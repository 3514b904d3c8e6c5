import type { Webhook } from '../../database/entities.ts';
import { SEALED, type SecretBox } from '../../database/secret-box.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import { VERSION } from '../../platform/config.ts';
import {
  type BodyFormat,
  buildEventBody,
  buildSharedBody,
  CONTENT_TYPES,
  type NotifiedEvent,
  type NotifiedMovement,
} from '../posting/notification.ts';
import type { PostRequest } from '../posting/post.ts';
import { createSigner } from '../posting/signature.ts';
import type { EndpointHealth } from '../run/endpoint-health.ts';

/** Opens a webhook's sealed settings, and builds the signed POST for a movement. */

/** A webhook's settings as MySQL stores them, with its secrets sealed, and the health of its endpoint. */
export interface SealedSettings {
  id: string;
  customer_id: string;
  endpoint: string;
  event: Webhook['event'];
  revision: number;
  secret: string;
  previous_secret: string | null;
  encoding: 'json' | 'form';
  body: Webhook['body'];
  hash_encoding: 'hex' | 'raw';
  ordered: number;
  rate_limit: number | null;
  max_in_flight: number;
  headers: string | null;
  api_secret: string;
  consecutive_failures: number;
  failing_since: Date | null;
  failing_days: number;
  circuit_openings: number;
  recovery_successes: number | null;
  consecutive_rejections: number;
  last_error: string | null;
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
  /** Hides the values of the custom headers in a text, so that they do not get into the log if an endpoint echoes them. */
  redact(text: string): string;
}

/**
 * Opens a webhook's settings.
 * @throws {SecretBoxError} when SECRET_KEY is not the one that its secrets were sealed with.
 */
export function openSettings(row: SealedSettings, secrets: SecretBox): Settings {
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
  const path = endpoint.pathname + endpoint.search;
  const credentials = credentialsOf(custom);
  const ordered = row.ordered === 1;
  const describe = isOfEvents(row.event)
    ? (content: unknown) => describeEvent(content as NotifiedEvent)
    : (content: unknown) => describeMovement(content as NotifiedMovement, format, apiSecret);

  return {
    origin: endpoint.origin,
    ordered,
    maxInFlight: ordered ? 1 : row.max_in_flight,
    rateLimit: row.rate_limit,
    health: {
      consecutiveFailures: row.consecutive_failures,
      failingSince: row.failing_since?.getTime() ?? null,
      failingDays: row.failing_days,
      circuitOpenings: row.circuit_openings,
      // null, because a run begins only when the circuit is not open.
      openUntil: null,
      recoverySuccesses: row.recovery_successes,
      consecutiveRejections: row.consecutive_rejections,
    },
    redact: (text) => credentials.reduce((rest, credential) => rest.replaceAll(credential, '…'), text),
    request(content, deliveryId, timestamp) {
      const id = `msg_${deliveryId}`;
      const { body, headers } = describe(content);
      return {
        origin: endpoint.origin,
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
    },
  };
}

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
