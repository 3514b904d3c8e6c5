import { SEALED, type SecretBox } from '../database/secret-box.ts';
import type { Sql } from '../database/transaction.ts';
import { VERSION } from '../version.ts';
import type { Breaker } from './breaker.ts';
import { type DueDelivery, RATE_NEXT_AT } from './due.ts';
import { type BodyFormat, buildBody, CONTENT_TYPES } from './notification.ts';
import type { PostRequest } from './post.ts';
import { createSigner } from './signature.ts';

/** A webhook as the pump needs it: its settings, opened secrets, and how its endpoint has been doing. */
export interface Subscriber {
  webhookId: string;
  endpoint: URL;
  revision: number;
  ordered: boolean;
  maxInFlight: number;
  /** Runs in a row, with this one, that took the lease and neither wrote a result nor gave it back. */
  tries: number;
  /** POSTs per second; null: no limit. */
  rateLimit: number | null;
  /** Milliseconds until the rate limit lets the next one go. */
  rateWait: number;
  breaker: Breaker;
  /** The whole POST for one delivery, signed at `timestamp` (seconds since 1970). */
  request(delivery: DueDelivery, timestamp: number): PostRequest;
  /** A text without the values of its custom headers: an endpoint that answers with them must not bring them into the log. */
  redact(text: string): string;
}

/** A webhook as MySQL has it, its secrets sealed. */
export interface SealedSubscriber {
  id: string;
  endpoint: string;
  revision: number;
  secret: string;
  previous_secret: string | null;
  encoding: 'json' | 'form';
  hash_encoding: 'hex' | 'raw';
  ordered: number;
  rate_limit: number | null;
  max_in_flight: number;
  headers: string | null;
  api_secret: string;
  tries: number;
  consecutive_failures: number;
  failing_since: Date | null;
  pauses: number;
  pause: string | null;
  in_flight_limit: number | null;
  rate_wait: string | null;
}

/** Durations are told by MySQL's clock alone, so that several hosts whose clocks differ agree. */
const READ = `
  SELECT w.id, w.endpoint, w.revision, w.secret, IF(w.previous_secret_until > NOW(6), w.previous_secret, NULL) AS previous_secret,
    w.encoding, w.hash_encoding, w.ordered, w.rate_limit, w.max_in_flight, w.headers, c.api_secret,
    p.tries, p.consecutive_failures, p.failing_since, p.pauses, p.in_flight_limit,
    TIMESTAMPDIFF(MICROSECOND, NOW(6), p.paused_until) / 1000 AS pause,
    TIMESTAMPDIFF(MICROSECOND, NOW(6), ${RATE_NEXT_AT}) / 1000 AS rate_wait
  FROM webhooks w JOIN customers c ON c.id = w.customer_id JOIN pumps p ON p.webhook_id = w.id
  WHERE w.id IN (?) AND w.status IN (?)`;

/**
 * Reads webhooks for a run of the pump each.
 * @param statuses others than active in which they are to be read too: for what is no run of the pump.
 * @returns for each null when it is not there, or in another status.
 */
export async function readSubscribers(
  sql: Sql,
  webhookIds: readonly string[],
  statuses: readonly string[] = ['active'],
): Promise<(SealedSubscriber | null)[]> {
  const rows = await sql.query<SealedSubscriber[]>(READ, [webhookIds, statuses]);
  const found = new Map(rows.map((row) => [row.id, row]));
  return webhookIds.map((id) => found.get(id) ?? null);
}

/**
 * Opens a webhook's secrets.
 * @param now milliseconds, on the clock that the run goes by.
 * @throws {SecretBoxError} when SECRET_KEY is not the one its secrets were sealed with.
 */
export function openSubscriber(row: SealedSubscriber, secrets: SecretBox, now: number): Subscriber {
  const open = (sealed: string) => secrets.open(sealed, SEALED.webhookSecret);
  const sign = createSigner([
    open(row.secret),
    ...(row.previous_secret === null ? [] : [open(row.previous_secret)]),
  ]);
  const apiSecret = secrets.open(row.api_secret, SEALED.apiSecret);
  const custom: Record<string, string> =
    row.headers === null ? {} : JSON.parse(secrets.open(row.headers, SEALED.webhookHeaders));
  const format: BodyFormat = { encoding: row.encoding, hashEncoding: row.hash_encoding };
  const endpoint = new URL(row.endpoint);
  const path = endpoint.pathname + endpoint.search;
  const pause = Number(row.pause ?? 0);
  const credentials = credentialsOf(custom);

  return {
    webhookId: row.id,
    endpoint,
    revision: row.revision,
    ordered: row.ordered === 1,
    maxInFlight: row.ordered === 1 ? 1 : row.max_in_flight,
    tries: row.tries,
    rateLimit: row.rate_limit,
    rateWait: Math.max(0, Number(row.rate_wait ?? 0)),
    breaker: {
      consecutiveFailures: row.consecutive_failures,
      failingSince: row.failing_since?.getTime() ?? null,
      pauses: row.pauses,
      pausedUntil: pause > 0 ? now + pause : null,
      inFlightLimit: row.in_flight_limit,
      successesAtLimit: 0,
    },
    redact: (text) => credentials.reduce((rest, credential) => rest.replaceAll(credential, '…'), text),
    request(delivery, timestamp) {
      const id = `msg_${delivery.id}`;
      const body = buildBody(delivery, format, apiSecret);
      return {
        origin: endpoint.origin,
        path,
        body,
        headers: {
          ...custom,
          'content-type': CONTENT_TYPES[format.encoding],
          'user-agent': `Ledgerbell/${VERSION}`,
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': sign(id, timestamp, body),
          'ledgerbell-transaction-id': delivery.transaction_id,
          'ledgerbell-date-issue': delivery.date_issue,
        },
      };
    },
  };
}

/** Shorter values are no secrets, and would be found in any text. */
const SHORTEST_CREDENTIAL = 8;

/** The values whole, then their parts: an endpoint may repeat a token without the "Bearer" before it. */
const credentialsOf = (headers: Record<string, string>): string[] =>
  Object.values(headers)
    .flatMap((value) => [value, ...value.split(/\s+/)])
    .filter(({ length }) => length >= SHORTEST_CREDENTIAL);
