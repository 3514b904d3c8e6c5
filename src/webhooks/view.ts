import * as v from 'valibot';
import { HTTP_URL } from '../addresses/http-url.ts';
import { ENCODINGS, HASH_ENCODINGS, WEBHOOK_EVENTS, type Webhook } from '../database/entities/webhook.ts';
import { Count, IdView, Timestamp } from '../http/schemas.ts';
import type { Runtime } from '../runtime.ts';
import { readStandings, type Standing } from './standing.ts';

const Health = v.object({
  circuit: v.pipe(
    v.picklist(['closed', 'open', 'half_open']),
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
  endpoint: v.pipe(v.string(), v.regex(HTTP_URL)),
  event: v.picklist(WEBHOOK_EVENTS),
  account: v.pipe(v.union([v.literal('all'), IdView]), v.description('"all", or the id of an account')),
  status: v.picklist(['active', 'paused', 'disabled']),
  status_reason: v.nullable(v.string()),
  secret: v.pipe(
    v.optional(v.string()),
    v.description('Shown only when the webhook is created or the secret is replaced.'),
  ),
  encoding: v.picklist(ENCODINGS),
  hash_encoding: v.picklist(HASH_ENCODINGS),
  ordered: v.boolean(),
  rate_limit: v.nullable(Count),
  max_in_flight: Count,
  header_names: v.pipe(
    v.array(v.string()),
    v.description('The names of the custom headers. Their values are not shown.'),
  ),
  health: Health,
  deliveries: v.object({ pending: Count, delivered: Count, failed: Count }),
  created_at: Timestamp,
});

export type WebhookView = v.InferOutput<typeof WebhookView>;

/** Webhooks with how they stand now, in their order. */
export async function viewWebhooks(
  { database, secrets }: Pick<Runtime, 'database' | 'secrets'>,
  webhooks: readonly Webhook[],
): Promise<WebhookView[]> {
  const standings = await readStandings(
    database,
    secrets,
    webhooks.map(({ id }) => id),
  );
  return webhooks.flatMap((webhook) => {
    const standing = standings.get(webhook.id);
    return standing === undefined ? [] : [view(webhook, standing)];
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

const view = (webhook: Webhook, { headerNames, health, deliveries }: Standing): WebhookView => ({
  id: Number(webhook.id),
  title: webhook.title,
  description: webhook.description,
  endpoint: webhook.endpoint,
  event: webhook.event,
  account: webhook.accountId === null ? 'all' : Number(webhook.accountId),
  // A deleted webhook is never shown.
  status: webhook.status as WebhookView['status'],
  status_reason: webhook.statusReason,
  encoding: webhook.encoding,
  hash_encoding: webhook.hashEncoding,
  ordered: webhook.ordered,
  rate_limit: webhook.rateLimit,
  max_in_flight: webhook.maxInFlight,
  header_names: headerNames,
  health,
  deliveries,
  created_at: webhook.createdAt.toISOString(),
});
