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
  /** The template that it was made from, which has its settings, its secret and the health of its endpoint. null: they are its own. */
  template_id: string | null;
  /** 1: it is a template. */
  is_template: number;
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
  /** Grows with each change, also of its template, so that a delivery run notices the change between two batches. */
  revision: number;
  /** Grows with each change of the row that has the settings. */
  settings_revision: number;
}

/** The columns of each group, by the row that has them: the webhook's own, or the one with its settings. */
const SENDING_OWN = [
  ...([
    'id',
    'customer_id',
    'template_id',
    'is_template',
    'delivery',
    'event',
    'withdrawals',
    'account_id',
  ] as const),
] satisfies (keyof SendingSettings)[];
const SENDING_SET = [
  ...(['endpoint', 'encoding', 'body', 'hash_encoding', 'ordered', 'rate_limit', 'max_in_flight'] as const),
  ...(['batch_max', 'batch_wait_ms', 'headers'] as const),
] satisfies (keyof SendingSettings)[];

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

const columnsOf = (alias: string, names: readonly string[]): string =>
  names.map((it) => `${alias}.${it}`).join(', ');

/**
 * Joins the row `settings` that has the settings of a webhook and the health of its endpoint: its template's, or its own.
 * Index: the primary key.
 */
export const joinSettings = (webhook: string, settings: string): string =>
  `JOIN webhooks ${settings} ON ${settings}.id = COALESCE(${webhook}.template_id, ${webhook}.id)`;

/** The status of a webhook, of `webhooks` twice: a webhook that the service has not paused itself follows its template. */
export const statusOf = (webhook: string, settings: string): string =>
  `IF(${webhook}.status IN ('paused', 'deleted'), ${webhook}.status, ${settings}.status)`;

export const revisionOf = (webhook: string, settings: string): string =>
  `${webhook}.revision + IF(${webhook}.template_id IS NULL, 0, ${settings}.revision)`;

/** @param webhook alias of `webhooks`. @param settings alias of `webhooks`, see `joinSettings`. */
export const sendingOf = (webhook: string, settings: string): string =>
  `${columnsOf(webhook, SENDING_OWN)}, ${columnsOf(settings, SENDING_SET)}, ${statusOf(webhook, settings)} AS status,
    ${revisionOf(webhook, settings)} AS revision, ${settings}.revision AS settings_revision`;

/** As `sendingOf`, with all that is set. */
export const settingsOf = (webhook: string, settings: string): string =>
  `${sendingOf(webhook, settings)}, ${settings}.title, ${settings}.description, ${settings}.paused_by, ${webhook}.created_at,
    IF(${webhook}.status = 'paused', ${webhook}.status_reason, ${settings}.status_reason) AS status_reason`;

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

/** @param cursor alias of `webhook_cursors`: the row of the webhook that has the settings. */
export const endpointOf = (cursor: string): string => columnsOf(cursor, ENDPOINT);

/** The id of the webhook whose row has the settings and the health: its template, or itself. */
export const settingsIdOf = ({ id, template_id }: Pick<SendingSettings, 'id' | 'template_id'>): string =>
  template_id ?? id;

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
  /* READ_WEBHOOKS */ SELECT ${settingsOf('w', 's')}, u.name AS customer, ${endpointOf('h')}, ${circuitOf('h')} AS circuit,
    ${circuitOpenUntil('h')} AS open_until, c.progressed_at, c.delivered_count AS delivered, c.failed_count AS failed,
    ${pendingOf('b', 'c')} AS pending, ${toComeOf('w')} AS to_come, NOW(6) AS now
  FROM webhooks w ${joinSettings('w', 's')} JOIN webhook_cursors h ON h.webhook_id = s.id
    JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    JOIN customers u ON u.id = w.customer_id
  WHERE w.id IN (?)`;

/** Reads webhooks, also deleted ones, in the order of the ids. One that does not exist is left out. */
export async function readWebhooks(sql: Sql, ids: readonly string[]): Promise<WebhookRecord[]> {
  if (ids.length === 0) return [];
  const rows = await sql.query<WebhookRecord[]>(READ_WEBHOOKS, [ids]);
  const byId = new Map(rows.map((row) => [row.id, { ...row, revision: Number(row.revision) }]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
