import type { WebhookState as RunState } from '../../delivering/webhook-state.ts';
import type { WebhookView } from '../../webhooks/view.ts';
import type { AttemptRow } from './attempt-rows.ts';
import { Facts, Moment, Notice } from './elements.tsx';
import { summarizeAttempts } from './recent-attempts.ts';
import { Timeline } from './timeline.tsx';
import { ACTION_LABELS, actionsFor, DONE } from './webhook-actions.ts';
import { WebhookState } from './webhook-columns.tsx';
import { explainWebhook } from './webhook-explanation.ts';
import type { WebhookRow } from './webhook-rows.ts';
import { formatCount, formatDuration, formatShare } from './wording.ts';

export interface WebhookPageProps {
  webhook: WebhookRow;
  /** Null for a deleted webhook. */
  settings: WebhookView | null;
  attempts: readonly AttemptRow[];
  run: RunState | null;
  /** The path of the webhook's job on the dashboard of the queues; null: it has none now. */
  job: string | null;
  done: string | undefined;
  now: Date;
}

/** The page of one webhook: what is wrong, what to press, its attempts. */
export const WebhookPage = ({ webhook, settings, attempts, run, job, done, now }: WebhookPageProps) => (
  <>
    {done === undefined || DONE[done] === undefined ? null : <Notice tone="good">{DONE[done]}</Notice>}
    <p class="crumbs">
      <a href="/ops/webhooks">Webhooks</a> ›{' '}
      <a href={`/ops/webhooks?customer=${webhook.customer_id}`}>{webhook.customer}</a>
    </p>
    <h1>
      Webhook {webhook.id} “{webhook.title}” <WebhookState webhook={webhook} now={now} />
    </h1>
    <p class="lead">{explainWebhook(webhook, run, now)}</p>
    <nav class="actions" aria-label="What you can do">
      {actionsFor(webhook).map((action, index) => (
        <a
          class={index === 0 && webhook.failing_since !== null ? 'button primary' : 'button'}
          href={`/ops/webhooks/${webhook.id}/${action}`}
        >
          {ACTION_LABELS[action]}
        </a>
      ))}
      <a class="button" href={`/ops/deliveries?webhook=${webhook.id}`}>
        Deliveries
      </a>
    </nav>
    <WebhookFacts webhook={webhook} settings={settings} attempts={attempts} run={run} job={job} now={now} />
    <h2>Newest attempts</h2>
    <Timeline webhookId={webhook.id} attempts={attempts} now={now} />
  </>
);

function WebhookFacts({ webhook, settings, attempts, run, job, now }: Omit<WebhookPageProps, 'done'>) {
  const { p95, successShare } = summarizeAttempts(attempts.map((it) => ({ ...it, webhook_id: webhook.id })));
  const of = (status: string, count: string) => (
    <a href={`/ops/deliveries?webhook=${webhook.id}&status=${status}`}>{formatCount(Number(count))}</a>
  );
  return (
    <Facts
      facts={[
        ['Endpoint', <code>{webhook.endpoint}</code>],
        ['Pending', of('pending', webhook.pending)],
        ['Failed', of('failed', webhook.failed)],
        ['Delivered', of('delivered', webhook.delivered)],
        ['Failing since', <Moment at={webhook.failing_since} now={now} />],
        ['p95 of these attempts', p95 === null ? '–' : formatDuration(p95)],
        ['Success of these attempts', formatShare(successShare)],
        ...(settings === null
          ? []
          : ([
              [
                'Sends',
                `${settings.event}, ${settings.account === 'all' ? 'all accounts' : `account ${settings.account}`}`,
              ],
              [
                'How',
                `${settings.encoding}, ${settings.ordered ? 'in order, one at a time' : `up to ${settings.max_in_flight} at a time`}${
                  settings.rate_limit === null ? '' : `, ${settings.rate_limit} per second`
                }`,
              ],
              ['Custom headers', settings.header_names.join(', ') || 'none'],
              ['Created', <Moment at={new Date(settings.created_at)} now={now} />],
              ...(settings.description === null ? [] : [['Description', settings.description] as const]),
            ] as const)),
        ['Delivery run', run?.leasedFor == null ? 'none' : 'sending or listening now'],
        ['Job', job === null ? 'none' : <a href={job}>in the queue</a>],
      ]}
    />
  );
}
