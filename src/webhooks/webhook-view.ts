import * as v from 'valibot';
import type { Runtime } from '../database/runtime.ts';
import { SEALED, type SecretBox } from '../database/secret-box.ts';
import {
  BODIES,
  DELIVERY_WAYS,
  ENCODINGS,
  HASH_ENCODINGS,
  WEBHOOK_EVENTS,
} from '../database/webhook-enums.ts';
import { HTTP_URL } from '../platform/customer-urls.ts';
import { Count, IdView, Timestamp, withExample } from '../platform/validation.ts';
import { CIRCUITS } from '../webhook-record/circuit.ts';
import { eventsOf } from '../webhook-record/events.ts';
import { readWebhooks, settingsIdOf, type WebhookRecord } from '../webhook-record/record.ts';

/** Webhooks as the API shows them. */

const Health = v.object({
  circuit: v.pipe(
    v.picklist(CIRCUITS),
    v.description(
      'open: nothing is sent until open_until. half_open: a single POST checks whether the endpoint has recovered.',
    ),
  ),
  open_until: withExample(v.nullable(Timestamp), '2025-11-30T18:33:00.000Z'),
  consecutive_failures: Count,
  failing_since: withExample(v.nullable(Timestamp), '2025-11-30T18:20:00.000Z'),
  last_error: v.pipe(
    withExample(v.nullable(v.string()), 'The endpoint answered 503.'),
    v.description('What went wrong at the last attempt; null when it succeeded.'),
  ),
});

/** A webhook as the API shows it. */
export const WebhookView = v.object({
  id: IdView,
  title: v.string(),
  description: v.pipe(
    withExample(v.nullable(v.string()), 'For the bookkeeper'),
    v.description('What its owner has noted about it.'),
  ),
  delivery: v.pipe(
    v.picklist(DELIVERY_WAYS),
    v.description('push: POSTs to the endpoint. pull: the feed has the events.'),
  ),
  endpoint: v.pipe(
    v.nullable(v.pipe(v.string(), v.regex(HTTP_URL))),
    v.description('null: the delivery is pull.'),
  ),
  event: v.pipe(v.picklist(WEBHOOK_EVENTS), v.description('Of two events, that of new movements.')),
  events: v.pipe(v.array(v.picklist(WEBHOOK_EVENTS)), v.description('All of its events: one or two.')),
  account: v.pipe(v.union([v.literal('all'), IdView]), v.description('"all", or the id of an account')),
  status: v.picklist(['active', 'paused', 'disabled']),
  status_reason: withExample(v.nullable(v.string()), 'The endpoint answered 410.'),
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
  rate_limit: withExample(v.nullable(Count), 50),
  max_in_flight: Count,
  batch: v.pipe(
    withExample(v.nullable(v.object({ max: Count, wait_ms: Count })), { max: 100, wait_ms: 500 }),
    v.description('null: each event is a POST of its own.'),
  ),
  header_names: v.pipe(
    withExample(v.array(v.string()), ['X-Team']),
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

/** Shows webhooks with their current health and numbers of deliveries, in the order of the ids. */
export async function viewWebhooks(
  { database, secrets }: Pick<Runtime, 'database' | 'secrets'>,
  ids: readonly string[],
): Promise<WebhookView[]> {
  return (await readWebhooks(database, ids)).map((webhook) => viewWebhook(webhook, secrets));
}

export const viewWebhook = (webhook: WebhookRecord, secrets: SecretBox): WebhookView => ({
  id: Number(webhook.id),
  title: webhook.title,
  description: webhook.description,
  delivery: webhook.delivery,
  endpoint: webhook.endpoint,
  event: webhook.event,
  events: eventsOf(webhook),
  account: webhook.account_id === null ? 'all' : Number(webhook.account_id),
  // A deleted webhook is never shown.
  status: webhook.status as WebhookView['status'],
  status_reason: webhook.status_reason,
  encoding: webhook.encoding,
  body: webhook.body,
  hash_encoding: webhook.hash_encoding,
  ordered: webhook.ordered === 1,
  rate_limit: webhook.rate_limit,
  max_in_flight: webhook.max_in_flight,
  batch: webhook.batch_max === null ? null : { max: webhook.batch_max, wait_ms: webhook.batch_wait_ms },
  header_names: namesOfHeaders(webhook, secrets),
  health: {
    circuit: webhook.circuit,
    open_until: webhook.open_until?.toISOString() ?? null,
    consecutive_failures: webhook.consecutive_failures,
    failing_since: webhook.failing_since?.toISOString() ?? null,
    last_error: webhook.last_error,
  },
  feed:
    webhook.delivery === 'push' ? null : { acknowledged_at: webhook.progressed_at?.toISOString() ?? null },
  deliveries: {
    pending: Number(webhook.pending),
    delivered: Number(webhook.delivered),
    failed: Number(webhook.failed),
    to_come: webhook.to_come === null ? null : Number(webhook.to_come),
  },
  created_at: webhook.created_at.toISOString(),
});

const namesOfHeaders = (webhook: WebhookRecord, secrets: SecretBox): string[] =>
  webhook.headers === null
    ? []
    : Object.keys(JSON.parse(secrets.open(webhook.headers, SEALED.webhookHeaders(settingsIdOf(webhook)))));
