import * as v from 'valibot';
import { formatCount } from '../../counts.ts';
import { WebhookView } from '../../webhooks/view.ts';
import type { ZoneOffset } from '../../zone-offset.ts';
import { type Column, formatTime, renderFacts } from '../table-output.ts';

/** A webhook as the API shows it. Fields of a newer service are kept for --json. */
export const Webhook = v.looseObject(WebhookView.entries);
export type Webhook = v.InferOutput<typeof Webhook>;
export const WebhookAnswer = v.object({ webhook: Webhook });

export const WEBHOOK_COLUMNS: readonly Column<Webhook>[] = [
  ['id', ({ id }) => id, 'right'],
  ['title', ({ title }) => title],
  ['event', ({ event }) => event],
  ['account', ({ account }) => account],
  ['status', (it) => describeStatus(it)],
  ['pending', ({ deliveries }) => formatCount(deliveries.pending), 'right'],
  ['failed', ({ deliveries }) => formatCount(deliveries.failed), 'right'],
  ['endpoint', ({ endpoint }) => endpoint],
];

const describeStatus = ({ status, health }: Webhook): string =>
  status !== 'active' || health.circuit === 'closed' || health.consecutive_failures === 0
    ? status
    : `${status}, circuit ${health.circuit.replace('_', '-')}`;

export function describeWebhook(it: Webhook, zone: ZoneOffset): string {
  const { health, deliveries } = it;
  return renderFacts([
    ['webhook', it.id],
    ['title', it.title],
    ['description', it.description],
    ['endpoint', it.endpoint],
    ['event', it.event],
    ['account', it.account],
    ['status', it.status_reason === null ? it.status : `${it.status}: ${it.status_reason}`],
    ...(it.secret === undefined ? [] : [['secret', `${it.secret}  (shown only now)`] as const]),
    ['body', `${it.encoding}, hash in ${it.hash_encoding}`],
    ['ordered', it.ordered ? 'yes' : 'no'],
    ['rate limit', it.rate_limit === null ? null : `${it.rate_limit} per second`],
    ['in flight', `${it.max_in_flight} at most`],
    ['headers', it.header_names.join(', ')],
    ['circuit', health.circuit.replace('_', '-')],
    ['open until', formatTime(health.open_until, zone)],
    ['failing since', formatTime(health.failing_since, zone)],
    ['last error', health.last_error],
    ['pending', formatCount(deliveries.pending)],
    ['delivered', formatCount(deliveries.delivered)],
    ['failed', formatCount(deliveries.failed)],
    ['created', formatTime(it.created_at, zone)],
  ]);
}
