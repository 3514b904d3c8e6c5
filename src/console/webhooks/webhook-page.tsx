import type { AttemptRow } from '../../delivery/delivery.ts';
import type { ReplayProgress } from '../../delivery/replay-view.ts';
import type { WebhookState as RunState } from '../../delivery/webhook-state.ts';
import type { WebhookView } from '../../webhooks/webhook-view.ts';
import { summarizeAttempts } from '../deliveries/delivery-rows.ts';
import {
  countOf,
  Facts,
  formatCount,
  formatDuration,
  formatShare,
  Moment,
  Notice,
} from '../page/elements.tsx';
import type { Confirmation } from '../page/error-page.tsx';
import { Timeline } from '../page/timeline.tsx';
import { WebhookState } from './webhook-columns.tsx';
import { andToCome, explainWebhook, type WebhookRow } from './webhook-rows.ts';

interface WebhookPageProps {
  webhook: WebhookRow;
  /** The operator who has paused the webhook, from the audit log. null: no operator has. */
  pausedBy: string | null;
  /** null for a deleted webhook. */
  settings: WebhookView | null;
  attempts: readonly AttemptRow[];
  run: RunState | null;
  /** The path of the webhook's job on the dashboard of the queues. null: it has no job now. */
  job: string | null;
  /** The replays that are not over, the oldest first. */
  replays: readonly ReplayProgress[];
  done: string | undefined;
  now: Date;
}

/** The page of one webhook: its problems, the possible actions, and its attempts. */
export const WebhookPage = ({
  webhook,
  settings,
  attempts,
  run,
  job,
  pausedBy,
  replays,
  done,
  now,
}: WebhookPageProps) => (
  <>
    {done === undefined || DONE[done] === undefined ? null : <Notice tone="good">{DONE[done]}</Notice>}
    <p class="crumbs">
      <a href="/ops/webhooks">Webhooks</a> ›{' '}
      <a href={`/ops/webhooks?customer=${webhook.customer_id}`}>{webhook.customer}</a>
    </p>
    <h1>
      Webhook {webhook.id} “{webhook.title}” <WebhookState webhook={webhook} now={now} />
    </h1>
    <p class="lead">{explainWebhook(webhook, run, now, pausedBy)}</p>
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
    <RunningReplays webhook={webhook} replays={replays} />
    <WebhookFacts webhook={webhook} settings={settings} attempts={attempts} run={run} job={job} now={now} />
    <h2>Newest attempts</h2>
    <Timeline webhookId={webhook.id} attempts={attempts} now={now} />
  </>
);

/** What is left of each replay, how fast it goes, and a button that cancels it. */
const RunningReplays = ({ webhook, replays }: Pick<WebhookPageProps, 'webhook' | 'replays'>) =>
  replays.length === 0 ? null : (
    <section>
      <h2>Replays</h2>
      {replays.map((it) => (
        <p>
          {describeReplay(it)}{' '}
          <a class="button" href={`/ops/webhooks/${webhook.id}/replays/${it.id}/cancel`}>
            Cancel replay {it.id}
          </a>
        </p>
      ))}
    </section>
  );

/** What is sent and left of a replay, and how long it takes at its pace. */
function describeReplay({ id, total, sent, left, perSecond }: ReplayProgress): string {
  const of =
    total === null || left === null ? '. The others are not counted yet' : ` of ${formatCount(total)}`;
  const rest = left === null ? '' : `, ${formatCount(left)} are left`;
  const pace = perSecond === null ? '' : `, at ${formatCount(perSecond)} per second since it began`;
  const time =
    left === null || !perSecond ? '' : `: about ${formatDuration((left / perSecond) * 1_000)} more`;
  return `Replay ${id} has sent ${formatCount(sent)}${of}${rest}${pace}${time}.`;
}

function WebhookFacts({
  webhook,
  settings,
  attempts,
  run,
  job,
  now,
}: Omit<WebhookPageProps, 'done' | 'pausedBy' | 'replays'>) {
  const { p95, successShare } = summarizeAttempts(attempts.map((it) => ({ ...it, webhook_id: webhook.id })));
  const of = (status: string, count: string) => (
    <a href={`/ops/deliveries?webhook=${webhook.id}&status=${status}`}>{formatCount(Number(count))}</a>
  );
  return (
    <Facts
      facts={[
        ['Endpoint', <code>{webhook.endpoint}</code>],
        [
          'Pending',
          <>
            {of('pending', webhook.pending)}
            {andToCome(webhook)}
          </>,
        ],
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
                `${settings.encoding}${settings.body === 'extended' ? ', extended body' : ''}, ${settings.ordered ? 'in order, one at a time' : `up to ${settings.max_in_flight} at a time`}${
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

/** The actions for a webhook in the console. A replay is separate, because it asks for a range first. */
export const WEBHOOK_ACTIONS = ['pause', 'enable', 'probe', 'test', 'rotate-secret'] as const;
export type WebhookAction = (typeof WEBHOOK_ACTIONS)[number];

/** The label of each button. */
const ACTION_LABELS: Readonly<Record<WebhookAction | 'replay', string>> = {
  pause: 'Pause',
  enable: 'Enable',
  probe: 'Probe now',
  test: 'Send a test',
  'rotate-secret': 'Rotate the secret',
  replay: 'Replay',
};

/** The actions that make sense in a webhook's state, the most likely first. */
function actionsFor({ status, failing_since, open_until }: WebhookRow): (WebhookAction | 'replay')[] {
  switch (status) {
    case 'deleted':
      return [];
    case 'paused':
    case 'disabled':
      return ['enable', 'test', 'rotate-secret', ...(status === 'paused' ? (['replay'] as const) : [])];
    case 'active':
      return [
        ...(failing_since !== null || open_until !== null ? (['probe'] as const) : []),
        'test',
        'replay',
        'pause',
        'rotate-secret',
      ];
  }
}

/** Asks for confirmation of an action, and explains its effect. */
export function confirmAction(action: WebhookAction, it: WebhookRow): Omit<Confirmation, 'back'> {
  const name = `webhook ${it.id} “${it.title}” of ${it.customer}`;
  const pending = countOf(Number(it.pending), 'pending delivery', 'pending deliveries');
  const pendingAre = `Its ${countOf(Number(it.pending), 'pending delivery is', 'pending deliveries are')}`;
  switch (action) {
    case 'pause':
      return {
        question: `Pause ${name}?`,
        consequences: [
          `Nothing more is sent to ${it.endpoint}.`,
          `${pendingAre} kept, new movements are added, and all are sent when it is enabled again.`,
        ],
        button: 'Pause the webhook',
        dangerous: true,
      };
    case 'enable':
      return {
        question: `Enable ${name}?`,
        consequences: [
          `${pendingAre} sent to ${it.endpoint}, beginning now with a single one.`,
          'The health of the endpoint is reset.',
          ...(it.status === 'disabled'
            ? ['Movements that were stored while it was disabled are not sent. The customer can list them.']
            : []),
        ],
        button: 'Enable the webhook',
      };
    case 'probe':
      return {
        question: `Send one notification for ${name} now?`,
        consequences: [
          `One of its ${pending} is sent to ${it.endpoint} now, instead of at the next probe.`,
          'If it is answered with success, more follow: 2, 4, 8 … at a time. If not, the circuit opens again, for longer.',
        ],
        button: 'Probe now',
      };
    case 'test':
      return {
        question: `Send a test notification for ${name}?`,
        consequences: [
          `A sample with the header webhook-test: true is sent to ${it.endpoint} now. No delivery changes.`,
        ],
        button: 'Send a test',
      };
    case 'rotate-secret':
      return {
        question: `Replace the secret of ${name}?`,
        consequences: [
          'The new secret is shown once, on the next page. The customer needs it to verify signatures.',
          'For 24 hours, the previous secret signs too. After that, a receiver without the new secret refuses every notification.',
        ],
        button: 'Replace the secret',
        dangerous: true,
      };
  }
}

/** The messages on the webhook's page after an action. */
export const DONE: Readonly<Record<string, string>> = {
  pause: 'The webhook is paused. Nothing more is sent.',
  enable: 'The webhook is enabled. The first notification is on its way.',
  probe: 'A probe is on its way. Reload this page to see its answer.',
  replay: 'The replay is accepted. Its deliveries become pending one after the other.',
  'cancel-replay': 'The replay is cancelled. Nothing more of it is sent.',
};
