import * as v from 'valibot';
import type { Webhook } from '../database/entities.ts';
import type { Runtime } from '../database/runtime.ts';
import { SEALED, type SecretBox } from '../database/secret-box.ts';
import type { Sql } from '../database/transaction.ts';
import {
  BODIES,
  DELIVERY_WAYS,
  ENCODINGS,
  HASH_ENCODINGS,
  WEBHOOK_EVENTS,
} from '../database/webhook-enums.ts';
import { Count, HTTP_URL, IdView, Timestamp } from '../platform/validation.ts';
import { CIRCUITS, type Circuit, circuitOf, circuitOpenUntil } from '../webhook-record/circuit.ts';
import { pendingOf, toComeOf } from '../webhook-record/pending.ts';

const Health = v.object({
  circuit: v.pipe(
    v.picklist(CIRCUITS),
    v.description(
      'open: nothing is sent until open_until. half_open: a single POST checks whether the endpoint has recovered.',
    ),
  ),
  open_until: v.nullable(Timestamp),
  consecutive_failures: Count,
  failing_since: v.nullable(Timestamp),
  last_error: v.pipe(
    v.nullable(v.string()),
    v.description('What went wrong at the last attempt; null when it succeeded.'),
  ),
});

/** A webhook as the API shows it. */
export const WebhookView = v.object({
  id: IdView,
  title: v.string(),
  description: v.pipe(v.nullable(v.string()), v.description('What its owner has noted about it.')),
  delivery: v.pipe(
    v.picklist(DELIVERY_WAYS),
    v.description('push: POSTs to the endpoint. pull: the feed has the events.'),
  ),
  endpoint: v.pipe(
    v.nullable(v.pipe(v.string(), v.regex(HTTP_URL))),
    v.description('null: the delivery is pull.'),
  ),
  event: v.picklist(WEBHOOK_EVENTS),
  account: v.pipe(v.union([v.literal('all'), IdView]), v.description('"all", or the id of an account')),
  status: v.picklist(['active', 'paused', 'disabled']),
  status_reason: v.nullable(v.string()),
  secret: v.pipe(
    v.optional(v.nullable(v.string())),
    v.description(
      'Shown only when the webhook is created or the secret is replaced. null: the answer to a repeated Idempotency-Key. A webhook with the delivery pull has none.',
    ),
  ),
  encoding: v.picklist(ENCODINGS),
  body: v.pipe(
    v.picklist(BODIES),
    v.description('extended: the body has one more member, extended, with what the bank says.'),
  ),
  hash_encoding: v.picklist(HASH_ENCODINGS),
  ordered: v.boolean(),
  rate_limit: v.nullable(Count),
  max_in_flight: Count,
  batch: v.pipe(
    v.nullable(v.object({ max: Count, wait_ms: Count })),
    v.description('null: each event is a POST of its own.'),
  ),
  header_names: v.pipe(
    v.array(v.string()),
    v.description('The names of the custom headers. Their values are not shown.'),
  ),
  health: Health,
  feed: v.pipe(
    v.nullable(
      v.object({
        acknowledged_at: v.pipe(
          v.nullable(Timestamp),
          v.description('When its reader last acknowledged events. null: never.'),
        ),
      }),
    ),
    v.description('null: the delivery is push.'),
  ),
  deliveries: v.object({
    pending: Count,
    delivered: Count,
    failed: Count,
    to_come: v.pipe(
      v.nullable(Count),
      v.description(
        'How many deliveries of replays have still to become pending. They count as delivered or failed until then. null: not counted yet.',
      ),
    ),
  }),
  created_at: Timestamp,
});

export type WebhookView = v.InferOutput<typeof WebhookView>;

/** Shows webhooks with their current health and numbers of deliveries, in the given order. */
export async function viewWebhooks(
  { database, secrets }: Pick<Runtime, 'database' | 'secrets'>,
  webhooks: readonly Webhook[],
): Promise<WebhookView[]> {
  const details = await readDetails(
    database,
    secrets,
    webhooks.map(({ id }) => id),
  );
  return webhooks.flatMap((webhook) => {
    const detail = details.get(webhook.id);
    return detail === undefined ? [] : [view(webhook, detail)];
  });
}

/** @param secret shown in this answer only. */
export async function viewWebhook(
  runtime: Pick<Runtime, 'database' | 'secrets'>,
  webhook: Webhook,
  secret?: string,
): Promise<WebhookView> {
  const [only] = await viewWebhooks(runtime, [webhook]);
  if (only === undefined) throw new Error(`webhook ${webhook.id} has no cursor`);
  return secret === undefined ? only : { ...only, secret };
}

const view = (webhook: Webhook, details: WebhookDetails): WebhookView => ({
  id: Number(webhook.id),
  title: webhook.title,
  description: webhook.description,
  delivery: webhook.delivery,
  endpoint: webhook.endpoint,
  event: webhook.event,
  account: webhook.accountId === null ? 'all' : Number(webhook.accountId),
  // A deleted webhook is never shown.
  status: webhook.status as WebhookView['status'],
  status_reason: webhook.statusReason,
  encoding: webhook.encoding,
  body: webhook.body,
  hash_encoding: webhook.hashEncoding,
  ordered: webhook.ordered,
  rate_limit: webhook.rateLimit,
  max_in_flight: webhook.maxInFlight,
  batch: webhook.batchMax === null ? null : { max: webhook.batchMax, wait_ms: webhook.batchWaitMs },
  ...details,
  created_at: webhook.createdAt.toISOString(),
});

/** What other tables and sealed columns say about a webhook. */
type WebhookDetails = Pick<WebhookView, 'header_names' | 'health' | 'feed' | 'deliveries'>;

/** Indexes: the primary keys. */
const READ = `
  SELECT w.id, w.delivery, w.headers, c.progressed_at, c.consecutive_failures, c.failing_since, c.last_error, ${circuitOf('c')} AS circuit,
    ${circuitOpenUntil('c')} AS open_until, c.delivered_count, c.failed_count,
    ${pendingOf('b', 'c')} AS pending, ${toComeOf('w')} AS to_come
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.id IN (?)`;

interface Row {
  id: string;
  delivery: WebhookView['delivery'];
  headers: string | null;
  progressed_at: Date | null;
  consecutive_failures: number;
  failing_since: Date | null;
  last_error: string | null;
  circuit: Circuit;
  open_until: Date | null;
  delivered_count: string;
  failed_count: string;
  pending: string;
  to_come: string | null;
}

/** @returns the details by webhook id. */
async function readDetails(
  sql: Sql,
  secrets: SecretBox,
  webhookIds: readonly string[],
): Promise<Map<string, WebhookDetails>> {
  if (webhookIds.length === 0) return new Map();
  const rows = await sql.query<Row[]>(READ, [webhookIds]);
  return new Map(rows.map((row) => [row.id, toDetails(row, secrets)]));
}

const toDetails = (row: Row, secrets: SecretBox): WebhookDetails => ({
  header_names:
    row.headers === null
      ? []
      : Object.keys(JSON.parse(secrets.open(row.headers, SEALED.webhookHeaders(row.id))) as object),
  health: {
    circuit: row.circuit,
    open_until: row.open_until?.toISOString() ?? null,
    consecutive_failures: row.consecutive_failures,
    failing_since: row.failing_since?.toISOString() ?? null,
    last_error: row.last_error,
  },
  feed: row.delivery === 'push' ? null : { acknowledged_at: row.progressed_at?.toISOString() ?? null },
  deliveries: {
    pending: Number(row.pending),
    delivered: Number(row.delivered_count),
    failed: Number(row.failed_count),
    to_come: row.to_come === null ? null : Number(row.to_come),
  },
});
