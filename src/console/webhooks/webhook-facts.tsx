import type { AttemptRow } from '../../delivery/attempts.ts';
import type { WebhookState as RunState } from '../../delivery/webhook-state.ts';
import { andToCome } from '../../verdict/webhooks.ts';
import type { WebhookRecord } from '../../webhook-record/record.ts';
import type { WebhookView } from '../../webhooks/webhook-view.ts';
import { summarizeAttempts } from '../deliveries/newest-attempts.ts';
import { Facts, formatCount, formatDuration, formatShare, Moment } from '../page/elements.tsx';

/** The settings and numbers on the page of a webhook. */

export interface FactsProps {
  webhook: WebhookRecord;
  /** null for a deleted webhook. */
  settings: WebhookView | null;
  attempts: readonly AttemptRow[];
  run: RunState | null;
  /** The path of the webhook's job on the dashboard of the queues. null: it has no job now. */
  job: string | null;
  now: Date;
}

export function WebhookFacts({ webhook, settings, attempts, run, job, now }: FactsProps) {
  const { p95, successShare } = summarizeAttempts(attempts.map((it) => ({ ...it, webhook_id: webhook.id })));
  return (
    <Facts
      facts={[
        ['Endpoint', <code>{webhook.endpoint}</code>],
        ...countsOf(webhook),
        ['Failing since', <Moment at={webhook.failing_since} now={now} />],
        ['p95 of these attempts', p95 === null ? '–' : formatDuration(p95)],
        ['Success of these attempts', formatShare(successShare)],
        ...(settings === null ? [] : settingsOf(settings, now)),
        ['Delivery run', run?.leasedFor == null ? 'none' : 'sending or listening now'],
        ['Job', job === null ? 'none' : <a href={job}>in the queue</a>],
      ]}
    />
  );
}

/** How notifications are sent, and since when. */
export const settingsOf = (settings: WebhookView, now: Date) =>
  [
    ['Sends', describeFilter(settings)],
    [
      'How',
      `${settings.encoding}${settings.body === 'extended' ? ', extended body' : ''}, ${settings.ordered ? 'in order, one at a time' : `up to ${settings.max_in_flight} at a time`}${
        settings.rate_limit === null ? '' : `, ${settings.rate_limit} per second`
      }`,
    ],
    ...(settings.batch === null ? [] : [['Batches', describeBatch(settings.batch)] as const]),
    ['Custom headers', settings.header_names.join(', ') || 'none'],
    ...originOf(settings, now),
  ] as const;

/** The settings of a feed: its events, their body, and where the feed comes from. */
export const feedSettingsOf = (settings: WebhookView, now: Date) =>
  [['Events', describeFilter(settings)], ['Body', settings.body], ...originOf(settings, now)] as const;

function describeBatch({ max, wait_ms }: NonNullable<WebhookView['batch']>): string {
  const wait = wait_ms === 0 ? 'not waiting for more' : `waits up to ${formatDuration(wait_ms)} for more`;
  return `up to ${formatCount(max)} events together, ${wait}`;
}

/** Nothing is sent, so that there is no endpoint, no attempt and no run. */
export const FeedFacts = ({ webhook, settings, now }: Pick<FactsProps, 'webhook' | 'settings' | 'now'>) => (
  <Facts
    facts={[
      ['Delivery', 'pull'],
      [
        'Last acknowledged',
        webhook.progressed_at === null ? 'never' : <Moment at={webhook.progressed_at} now={now} />,
      ],
      ...countsOf(webhook),
      ...(settings === null ? [] : feedSettingsOf(settings, now)),
    ]}
  />
);

function countsOf(webhook: WebhookRecord) {
  const of = (status: string, count: string) => (
    <a href={`/ops/deliveries?webhook=${webhook.id}&status=${status}`}>{formatCount(Number(count))}</a>
  );
  return [
    [
      'Pending',
      <>
        {of('pending', webhook.pending)}
        {andToCome(webhook)}
      </>,
    ],
    ['Failed', of('failed', webhook.failed)],
    ['Delivered', of('delivered', webhook.delivered)],
  ] as const;
}

const describeFilter = ({ events, account }: WebhookView): string =>
  `${events.join(' and ')}, ${account === 'all' ? 'all accounts' : `account ${account}`}`;

const originOf = ({ created_at, description }: WebhookView, now: Date) =>
  [
    ['Created', <Moment at={new Date(created_at)} now={now} />],
    ...(description === null ? [] : [['Description', description] as const]),
  ] as const;
