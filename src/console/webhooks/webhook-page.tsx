import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { recordChange } from '../../customers/audit.ts';
import type { Sql } from '../../database/transaction.ts';
import { probeNow, wakeDue } from '../../delivery/reconcile.ts';
import { type ReplayProgress, readReplays } from '../../delivery/replay-view.ts';
import { wakeChangedWebhook } from '../../delivery/wake.ts';
import { readStates } from '../../delivery/webhook-state.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { notFound, Problem } from '../../platform/problem.ts';
import { findDeliveryJob, type Queues } from '../../platform/queues.ts';
import { readTemplateWebhooks } from '../../verdict/template-view.ts';
import { readWebhookTroubles, type WebhookTrouble } from '../../verdict/webhooks.ts';
import { readWebhooks, type WebhookRecord } from '../../webhook-record/record.ts';
import { MOST_IN_FLIGHT, MOST_PER_SECOND } from '../../webhooks/webhook-input.ts';
import { viewWebhook } from '../../webhooks/webhook-view.ts';
import { readNewestAttempts } from '../deliveries/newest-attempts.ts';
import { Timeline } from '../page/attempts.tsx';
import {
  CustomerLink,
  countOf,
  Done,
  formatCount,
  formatDuration,
  LinkButton,
  TemplateLink,
} from '../page/elements.tsx';
import { type Confirmation, sendConfirmation, sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, callerFor } from '../page/operator.ts';
import { DASHBOARD_PATH } from '../queues/dashboard.ts';
import { explainWebhook, isPulled, nameOf, nounOf } from './explain-webhook.ts';
import { actionsForFeed, confirmFeedAction, DONE_OF_FEED, requireFeedAction } from './feed-actions.ts';
import { type FactsProps, FeedFacts, WebhookFacts } from './webhook-facts.tsx';
import { WebhookState } from './webhooks-page.tsx';

/** The page of one webhook in the console, and the actions that it offers. */

interface WebhookPageProps extends FactsProps {
  troubles: readonly WebhookTrouble[];
  /** Whether its template does not match its customer any more. */
  isEnded: boolean;
  /** The replays that are not over, the oldest first. */
  replays: readonly ReplayProgress[];
  done: string | undefined;
}

/** The page of one webhook: its problems, the possible actions, and its attempts. */
export const WebhookPage = ({ webhook, ...props }: WebhookPageProps) => (
  <>
    <Done done={props.done} messages={isPulled(webhook) ? DONE_OF_FEED : DONE} />
    <p class="crumbs">
      <a href="/ops/webhooks">Webhooks</a> ›{' '}
      {webhook.template_id === null ? null : (
        <>
          Template <TemplateLink id={webhook.template_id} title={webhook.title} /> ›{' '}
        </>
      )}
      <CustomerLink id={webhook.customer_id} name={webhook.customer} />
    </p>
    <h1>
      Webhook {webhook.id} “{webhook.title}” <WebhookState webhook={webhook} troubles={props.troubles} />
    </h1>
    <p class="lead">{explainWebhook(webhook, props.troubles, props.run)}</p>
    {webhook.template_id === null ? null : <OfTemplate webhook={webhook} isEnded={props.isEnded} />}
    <nav class="actions" aria-label="What you can do">
      {actionsFor(webhook, props.troubles).map((action, index) => (
        <LinkButton
          primary={index === 0 && props.troubles.length > 0}
          href={`/ops/webhooks/${webhook.id}/${action}`}
          text={ACTION_LABELS[action]}
        />
      ))}
      <LinkButton href={`/ops/deliveries?webhook=${webhook.id}`} text="Deliveries" />
    </nav>
    <RunningReplays webhook={webhook} replays={props.replays} />
    {isPulled(webhook) ? (
      <FeedFacts webhook={webhook} {...props} />
    ) : (
      <>
        <WebhookFacts webhook={webhook} {...props} />
        <h2>Newest attempts</h2>
        <Timeline webhookId={webhook.id} attempts={props.attempts} now={props.now} />
      </>
    )}
  </>
);

/** Says that a template has the settings of a webhook, and where it is changed. */
function OfTemplate({ webhook: { template_id, status, status_reason }, isEnded }: OfTemplateProps) {
  const link = <a href={`/ops/templates/${template_id}`}>template {template_id}</a>;
  return (
    <p>
      {isEnded
        ? 'It has ended: its template does not match its customer any more. What is pending is still sent. '
        : ''}
      Its settings, its endpoint and its secret are those of {link}. It is not changed by itself.
      {status === 'paused' && status_reason !== null ? (
        <>
          {' '}
          If you enable the template, it is sent again.{' '}
          <LinkButton href={`/ops/templates/${template_id}/enable`} text="Enable the template" />
        </>
      ) : null}
    </p>
  );
}

type OfTemplateProps = Pick<WebhookPageProps, 'webhook' | 'isEnded'>;

/** What is left of each replay, how fast it goes, and a button that cancels it. */
const RunningReplays = ({ webhook, replays }: Pick<WebhookPageProps, 'webhook' | 'replays'>) =>
  replays.length === 0 ? null : (
    <section>
      <h2>Replays</h2>
      {replays.map((it) => (
        <p>
          {describeReplay(it)}{' '}
          <LinkButton
            href={`/ops/webhooks/${webhook.id}/replays/${it.id}/cancel`}
            text={`Cancel replay ${it.id}`}
          />
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

/** The actions for a webhook in the console. A replay is separate, because it asks for a range first. */
export const WEBHOOK_ACTIONS = ['pause', 'enable', 'probe', 'raise-limit', 'test', 'rotate-secret'] as const;
export type WebhookAction = (typeof WEBHOOK_ACTIONS)[number];

/** The label of each button. */
export const ACTION_LABELS: Readonly<Record<WebhookAction | 'replay', string>> = {
  pause: 'Pause',
  enable: 'Enable',
  probe: 'Probe now',
  'raise-limit': 'Raise the limit',
  test: 'Send a test',
  'rotate-secret': 'Rotate the secret',
  replay: 'Replay',
};

/** The actions for a webhook that has its settings from a template. */
const OF_TEMPLATE: readonly (WebhookAction | 'replay')[] = ['test', 'replay'];

/** The actions for a template. It has no deliveries, and no customer for whom something could be sent. */
export const FOR_TEMPLATE = ['pause', 'enable', 'probe', 'raise-limit', 'rotate-secret'] as const;

/** The actions that make sense in the state of a webhook or a template, the most likely first. */
export function actionsFor(
  webhook: WebhookRecord,
  troubles: readonly WebhookTrouble[],
): (WebhookAction | 'replay')[] {
  const all = actionsOf(webhook, troubles);
  if (webhook.is_template === 1) return all.filter((it) => FOR_TEMPLATE.some((own) => own === it));
  return webhook.template_id === null ? all : all.filter((it) => OF_TEMPLATE.includes(it));
}

function actionsOf(
  webhook: WebhookRecord,
  troubles: readonly WebhookTrouble[],
): (WebhookAction | 'replay')[] {
  const { status, failing_since, open_until } = webhook;
  if (isPulled(webhook)) return actionsForFeed(status);
  switch (status) {
    case 'deleted':
      return [];
    case 'paused':
    case 'disabled':
      return ['enable', 'test', 'rotate-secret', ...(status === 'paused' ? (['replay'] as const) : [])];
    case 'active':
      return [
        ...(failing_since !== null || open_until !== null ? (['probe'] as const) : []),
        ...(troubles.some(({ limit }) => limit === 'rate_limit' || limit === 'max_in_flight')
          ? (['raise-limit'] as const)
          : []),
        'test',
        'replay',
        'pause',
        'rotate-secret',
      ];
  }
}

/** Asks for confirmation of an action, and explains its effect. */
export function confirmAction(action: WebhookAction, it: WebhookRecord): Omit<Confirmation, 'back'> {
  if (isPulled(it)) return confirmFeedAction(requireFeedAction(action), it);
  const isTemplate = it.is_template === 1;
  const [name, noun] = [nameOf(it), nounOf(it)];
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
        button: `Pause the ${noun}`,
        dangerous: true,
      };
    case 'enable':
      return {
        question: `Enable ${name}?`,
        consequences: [
          `${pendingAre} sent to ${it.endpoint}, beginning now with a single one.`,
          'The health of the endpoint is reset.',
          ...(isTemplate ? ['Its webhooks that the service has paused are sent again too.'] : []),
          // A disabled template keeps matching.
          ...(it.status === 'disabled' && !isTemplate
            ? ['Movements that were stored while it was disabled are not sent. The customer can list them.']
            : []),
        ],
        button: `Enable the ${noun}`,
      };
    case 'probe':
      return {
        question: `Send one notification for ${name} now?`,
        consequences: [
          `One of its ${pending} is sent to ${it.endpoint} ${isTemplate ? 'within ten seconds, if one is due' : 'now'}, instead of at the next probe.`,
          'If it is answered with success, more follow: 2, 4, 8 … at a time. If not, the circuit opens again, for longer.',
        ],
        button: 'Probe now',
      };
    case 'raise-limit':
      return {
        question: `Let ${name} be sent twice as many at a time?`,
        consequences: [
          ...(isTemplate ? ['The limit holds for each of its webhooks.'] : []),
          'Its rate_limit, or without one its max_in_flight, becomes twice as high, up to what the API allows.',
          `${it.endpoint} gets more notifications at a time. If it fails, they are tried again.`,
        ],
        button: 'Raise the limit',
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
          `The new secret is shown once, on the next page. ${isTemplate ? 'Its receiver' : 'The customer'} needs it to verify signatures.`,
          'For 24 hours, the previous secret signs too. After that, a receiver without the new secret refuses every notification.',
        ],
        button: 'Replace the secret',
        dangerous: true,
      };
  }
}

/** The messages on the webhook's page after an action. */
const DONE: Readonly<Record<string, string>> = {
  pause: 'The webhook is paused. Nothing more is sent.',
  enable: 'The webhook is enabled. The first notification is on its way.',
  probe: 'A probe is on its way. Reload this page to see its answer.',
  'raise-limit': 'The limit is raised. Its runs follow it from now on.',
  replay: 'The replay is accepted. Its deliveries become pending one after the other.',
  'cancel-replay': 'The replay is cancelled. Nothing more of it is sent.',
};

const ATTEMPTS = 50;

/** How many of the newest replays are looked at. */
const REPLAYS = 100;

/** /ops/webhooks/:id and its actions. Each change has its own confirmation page, which sends a POST. */
export const webhookRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database, secrets, queues } = context.runtime;
  const routes = new Hono<ApiEnv>().get('/:id', async (c) => {
    const [webhook] = await readWebhooks(database, [readId(c, 'webhook')]);
    if (webhook === undefined) throw notFound('webhook');
    const { id } = webhook;
    if (webhook.is_template === 1) return c.redirect(`/ops/templates/${id}`);
    const [troubles, isEnded, attempts, [run], job, replays] = await Promise.all([
      readWebhookTroubles(database, [id]),
      hasEnded(database, webhook),
      readNewestAttempts(database, id, ATTEMPTS),
      readStates(database, [id]),
      findJob(queues, id),
      readReplays(database, id, { before: null, limit: REPLAYS }),
    ]);
    const settings = webhook.status === 'deleted' ? null : viewWebhook(webhook, secrets);
    return sendPage(
      c,
      { title: `Webhook ${id}`, section: 'Webhooks' },
      <WebhookPage
        webhook={webhook}
        troubles={troubles.get(id) ?? []}
        isEnded={isEnded}
        settings={settings}
        attempts={attempts}
        run={run ?? null}
        job={job}
        replays={replays.filter(({ state }) => state === 'running').reverse()}
        done={c.req.query('done')}
        now={new Date()}
      />,
    );
  });

  for (const action of WEBHOOK_ACTIONS) {
    routes.get(`/:id/${action}`, async (c) => {
      const webhook = requireOwnAction(action, await requireWebhook(database, c));
      return sendConfirmation(c, 'Webhooks', {
        ...confirmAction(action, webhook),
        back: `/ops/webhooks/${webhook.id}`,
      });
    });
    routes.post(`/:id/${action}`, async (c) => {
      const webhook = requireOwnAction(action, await requireWebhook(database, c));
      if (isPulled(webhook)) requireFeedAction(action);
      return perform(c, context, action, webhook);
    });
  }
  return routes;
};

/** Finds a webhook that is no template. @throws {Problem} 404. */
export async function requireWebhook(sql: Sql, c: Context<ApiEnv>): Promise<WebhookRecord> {
  const [webhook] = await readWebhooks(sql, [readId(c, 'webhook')]);
  if (webhook === undefined || webhook.is_template === 1) throw notFound('webhook');
  return webhook;
}

/** Refuses what changes a webhook of a template by itself. @throws {Problem} 409. */
function requireOwnAction(action: WebhookAction, webhook: WebhookRecord): WebhookRecord {
  const { id, template_id } = webhook;
  if (template_id !== null && !OF_TEMPLATE.includes(action))
    throw new Problem(
      'webhook-of-template',
      `Webhook ${id} belongs to template ${template_id}, and is not changed by itself. Change the template.`,
    );
  return webhook;
}

/** Whether a webhook's template does not match its customer any more. */
async function hasEnded(sql: Sql, { id, template_id, customer_id }: WebhookRecord): Promise<boolean> {
  if (template_id === null) return false;
  const after = String(BigInt(customer_id) - 1n);
  const [first] = await readTemplateWebhooks(sql, template_id, { after, limit: 1 });
  return first?.id === id && first.status === 'ended';
}

const RotatedSecret = v.object({ secret: v.string() });
const Rotated = v.union([
  v.object({ webhook: RotatedSecret }),
  v.pipe(
    v.object({ webhook_template: RotatedSecret }),
    v.transform(({ webhook_template: webhook }) => ({ webhook })),
  ),
]);
const Test = v.object({
  test: v.object({
    status_code: v.nullable(v.number()),
    error: v.nullable(v.string()),
    reason: v.optional(v.string()),
  }),
});

/** Carries out an action that was confirmed, for a webhook or a template, and answers with what came of it. */
export async function perform(
  c: Context<ApiEnv>,
  context: ConsoleContext,
  action: WebhookAction,
  webhook: WebhookRecord,
) {
  const { runtime } = context;
  const { id, customer_id: customerId, rate_limit, max_in_flight, is_template } = webhook;
  const noun = nounOf(webhook);
  const page = `/ops/${noun}s/${id}`;
  const path = is_template === 1 ? `/v1/webhook-templates/${id}` : `/v1/webhooks/${id}`;
  const ask = (method: string, at: string, body?: object) =>
    callApiFor(c, context, is_template === 1 ? null : customerId, { method, path: at, body });
  const done = () => c.redirect(`${page}?done=${action}`, 303);
  switch (action) {
    case 'pause':
    case 'enable':
      await ask('PATCH', path, { status: action === 'pause' ? 'paused' : 'active' });
      return done();
    case 'raise-limit': {
      await ask(
        'PATCH',
        path,
        rate_limit === null
          ? { max_in_flight: Math.min(2 * max_in_flight, MOST_IN_FLIGHT) }
          : { rate_limit: Math.min(2 * rate_limit, MOST_PER_SECOND) },
      );
      return done();
    }
    case 'probe':
      await probeNow(runtime.database, id, (sql) =>
        recordChange(sql, callerFor(c, runtime, customerId), { action: 'probe', subject: `${noun} ${id}` }),
      );
      if (is_template === 0) await wakeChangedWebhook(runtime, id);
      else wakeDue(runtime);
      return done();
    case 'test': {
      const { test } = v.parse(Test, await ask('POST', `${path}/test`));
      const isInFeed = test.status_code === null && test.error === null;
      const answer = isInFeed
        ? 'The sample is the next event of the feed'
        : test.status_code === null
          ? 'No answer'
          : `The endpoint answered ${test.status_code}`;
      const problem = test.error === 'no answer' ? (test.reason ?? null) : test.error;
      return sendPage(
        c,
        { title: 'Test notification', section: 'Webhooks' },
        <section class="confirm">
          <h1>{problem === null ? answer : `${answer}: ${problem}`}.</h1>
          <LinkButton primary href={page} text={`Back to webhook ${id}`} />
        </section>,
      );
    }
    case 'rotate-secret': {
      const { webhook: rotated } = v.parse(Rotated, await ask('POST', `${path}/rotate-secret`));
      return sendPage(
        c,
        { title: 'The new secret', section: 'Webhooks' },
        <section class="confirm">
          <h1>
            The new secret of {noun} {id}
          </h1>
          <p>
            Give it to {is_template === 1 ? 'its receiver' : 'the customer'} now. It is not shown again. For
            24 hours, the previous one signs too.
          </p>
          <p>
            <code class="secret">{rotated.secret}</code>
          </p>
          <LinkButton primary href={page} text={`Back to ${noun} ${id}`} />
        </section>,
      );
    }
  }
}

/** The path of a webhook's waiting, delayed or active job on the dashboard. null: none, or Redis cannot be reached. */
async function findJob(queues: Queues, webhookId: string): Promise<string | null> {
  const job = await findDeliveryJob(queues, webhookId).catch(() => null);
  return job && `${DASHBOARD_PATH}/queue/${job.queue}/${encodeURIComponent(job.id)}`;
}
