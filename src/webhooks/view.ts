import * as v from 'valibot';
import { ENCODINGS, HASH_ENCODINGS, WEBHOOK_EVENTS, type Webhook } from '../database/entities/webhook.ts';

/** A webhook as the API shows it. `secret` is there only in the answers that create or rotate it. */
export const WebhookView = v.object({
  id: v.string(),
  title: v.string(),
  endpoint: v.string(),
  event: v.picklist(WEBHOOK_EVENTS),
  account: v.pipe(v.string(), v.description('"all", or the id of an account')),
  status: v.picklist(['active', 'paused', 'disabled']),
  status_reason: v.nullable(v.string()),
  secret: v.optional(v.string()),
  encoding: v.picklist(ENCODINGS),
  hash_encoding: v.picklist(HASH_ENCODINGS),
  ordered: v.boolean(),
  rate_limit: v.nullable(v.number()),
  max_in_flight: v.number(),
  created_at: v.string(),
});

export const viewWebhook = (webhook: Webhook, secret?: string) => ({
  id: webhook.id,
  title: webhook.title,
  endpoint: webhook.endpoint,
  event: webhook.event,
  account: webhook.accountId ?? 'all',
  status: webhook.status,
  status_reason: webhook.statusReason,
  ...(secret === undefined ? {} : { secret }),
  encoding: webhook.encoding,
  hash_encoding: webhook.hashEncoding,
  ordered: webhook.ordered,
  rate_limit: webhook.rateLimit,
  max_in_flight: webhook.maxInFlight,
  created_at: webhook.createdAt.toISOString(),
});
