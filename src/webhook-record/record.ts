import type { Sql } from '../database/transaction.ts';
import type {
  BODIES,
  DELIVERY_WAYS,
  ENCODINGS,
  HASH_ENCODINGS,
  WebhookEvent,
} from '../database/webhook-enums.ts';
import { type Circuit, circuitOf, circuitOpenUntil } from './circuit.ts';
import { pendingOf, toComeOf } from './pending.ts';

/**
 * A webhook as it is stored, in groups of columns: its settings, its secrets, the health of its endpoint, and its progress. One statement
 * reads all that people are shown, of any number of webhooks. Numbers that may be large are strings, as MySQL gives them.
 */

/** What a delivery run needs to know. */
export interface SendingSettings {
  id: string;
  customer_id: string;
  /**
   * paused: by its owner, an operator or the service. The webhook still matches, and its deliveries are pending until it is active again.
   * disabled: by a 410 or five days of failures. The webhook matches nothing until it is active again.
   */
  status: 'active' | 'paused' | 'disabled' | 'deleted';
  /** push: POSTs to the endpoint. pull: the subscriber reads the feed. */
  delivery: (typeof DELIVERY_WAYS)[number];
  /** null: the delivery is pull. */
  endpoint: string | null;
  /** The event of new movements, if it has one; otherwise its only event. */
  event: WebhookEvent;
  /** 1: it has the event WITHDRAWN_TRANSACTION, alone or beside `event`. */
  withdrawals: number;
  /** null: every account of the customer. */
  account_id: string | null;
  encoding: (typeof ENCODINGS)[number];
  /** extended: with more data from the bank than the twelve fields. */
  body: (typeof BODIES)[number];
  hash_encoding: (typeof HASH_ENCODINGS)[number];
  ordered: number;
  /** Most POSTs per second. null: no limit. */
  rate_limit: number | null;
  max_in_flight: number;
  /** The most events of a batch. null: each event is a POST of its own. */
  batch_max: number | null;
  /** How long a batch that is not full waits for more, in milliseconds. */
  batch_wait_ms: number;
  /** The subscriber's own headers as a JSON object. Sealed, because they may contain a token. */
  headers: string | null;
  /** Grows with each change, so that a delivery run notices the change between two batches. */
  revision: number;
}

const SENDING: readonly (keyof SendingSettings)[] = [
  ...(['id', 'customer_id', 'status', 'delivery', 'endpoint', 'event', 'withdrawals', 'account_id'] as const),
  ...(['encoding', 'body', 'hash_encoding', 'ordered', 'rate_limit', 'max_in_flight', 'batch_max'] as const),
  ...(['batch_wait_ms', 'headers', 'revision'] as const),
];

/** All that is set, also what only people read. */
export interface WebhookSettings extends SendingSettings {
  title: string;
  /** What its owner has noted about it. */
  description: string | null;
  /** Why the service has paused or disabled the webhook. null: the service has not. */
  status_reason: string | null;
  /** The operator who has paused it; null: its owner, or the service. */
  paused_by: string | null;
  created_at: Date;
}

const SETTINGS: readonly (keyof WebhookSettings)[] = [
  ...SENDING,
  ...(['title', 'description', 'status_reason', 'paused_by', 'created_at'] as const),
];

const columnsOf = (alias: string, names: readonly string[]): string =>
  names.map((it) => `${alias}.${it}`).join(', ');

/** @param webhook alias of `webhooks`. */
export const sendingOf = (webhook: string): string => columnsOf(webhook, SENDING);
export const settingsOf = (webhook: string): string => columnsOf(webhook, SETTINGS);

/** How the endpoint has answered, as a delivery run keeps it. */
export interface EndpointColumns {
  /** Answers in a row that say that the endpoint is down. */
  consecutive_failures: number;
  failing_since: Date | null;
  failing_days: number;
  circuit_openings: number;
  /** null: it is sent as much as its settings allow. */
  recovery_successes: number | null;
  /** Answers in a row that refuse a body. */
  consecutive_rejections: number;
  /** The most events of its next batch. null: as many as its settings allow. */
  batch_limit: number | null;
  last_error: string | null;
}

const ENDPOINT: readonly (keyof EndpointColumns)[] = [
  ...(['consecutive_failures', 'failing_since', 'failing_days', 'circuit_openings'] as const),
  ...(['recovery_successes', 'consecutive_rejections', 'batch_limit', 'last_error'] as const),
];

/** @param cursor alias of `webhook_cursors`. */
export const endpointOf = (cursor: string): string => columnsOf(cursor, ENDPOINT);

/** A webhook, as people are shown it. */
export interface WebhookRecord extends WebhookSettings, EndpointColumns {
  /** The name of its customer. */
  customer: string;
  circuit: Circuit;
  /** null: the circuit is not open. */
  open_until: Date | null;
  /** When a delivery last ended; of a feed, when its reader last acknowledged events. */
  progressed_at: Date | null;
  delivered: string;
  failed: string;
  pending: string;
  /** How many deliveries of replays have still to become pending. null: not counted yet. */
  to_come: string | null;
  /** When the record was read, by MySQL's clock. */
  now: Date;
}

/** Indexes: the primary keys. */
const READ_WEBHOOKS = `
  /* READ_WEBHOOKS */ SELECT ${settingsOf('w')}, u.name AS customer, ${endpointOf('c')}, ${circuitOf('c')} AS circuit,
    ${circuitOpenUntil('c')} AS open_until, c.progressed_at, c.delivered_count AS delivered, c.failed_count AS failed,
    ${pendingOf('b', 'c')} AS pending, ${toComeOf('w')} AS to_come, NOW(6) AS now
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    JOIN customers u ON u.id = w.customer_id
  WHERE w.id IN (?)`;

/** Reads webhooks, also deleted ones, in the order of the ids. One that does not exist is left out. */
export async function readWebhooks(sql: Sql, ids: readonly string[]): Promise<WebhookRecord[]> {
  if (ids.length === 0) return [];
  const rows = await sql.query<WebhookRecord[]>(READ_WEBHOOKS, [ids]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
