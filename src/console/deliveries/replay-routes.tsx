import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { ReplayProgressView, ReplayView } from '../../delivery/replay-view.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { Choice, Field, formatCount } from '../page/elements.tsx';
import { sendConfirmation } from '../page/error-page.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, requireAnswer } from '../page/operator.ts';
import { requireWebhook } from '../webhooks/webhook-routes.tsx';
import type { WebhookRow } from '../webhooks/webhook-rows.ts';

const DAY = 24 * 60 * 60 * 1_000;

/** The form's fields. The API checks the values. */
const Range = v.object({
  since: v.string(),
  until: v.optional(v.string(), ''),
  status: v.optional(v.string(), 'failed'),
});
type Range = v.InferOutput<typeof Range>;

const Answer = v.object({ replay: ReplayView });
const ProgressAnswer = v.object({ replay: ReplayProgressView });

/** /ops/webhooks/:id/replay: asks for a range, shows how many deliveries it holds, and sends them again. Replays can be cancelled. */
export const replayRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database } = context.runtime;
  return new Hono<ApiEnv>()
    .get('/:id/replay', async (c) => {
      const webhook = await requireWebhook(database, c);
      const range = v.safeParse(Range, c.req.query());
      return range.success ? confirm(c, context, webhook, range.output) : askForRange(c, webhook);
    })
    .post('/:id/replay', async (c) => {
      const webhook = await requireWebhook(database, c);
      const range = v.parse(Range, await c.req.parseBody());
      await replay(c, context, webhook, range, { dryRun: false });
      return c.redirect(`/ops/webhooks/${webhook.id}?done=replay`, 303);
    })
    .get('/:id/replays/:replay_id/cancel', async (c) => {
      const webhook = await requireWebhook(database, c);
      return confirmCancel(c, context, webhook);
    })
    .post('/:id/replays/:replay_id/cancel', async (c) => {
      const webhook = await requireWebhook(database, c);
      const path = `${pathOfReplay(c)}/cancel`;
      await requireAnswer(await callApiFor(c, context, webhook.customer_id, { method: 'POST', path }));
      return c.redirect(`/ops/webhooks/${webhook.id}?done=cancel-replay`, 303);
    });
};

/** By default, the range begins when the endpoint began to fail, or a day ago. */
function askForRange(c: Context<ApiEnv>, webhook: WebhookRow) {
  const since = webhook.failing_since ?? new Date(Date.now() - DAY);
  return sendPage(
    c,
    { title: 'Replay', section: 'Webhooks' },
    <section class="confirm">
      <h1>
        Which deliveries of webhook {webhook.id} “{webhook.title}” are sent again?
      </h1>
      <p>Choose by the time at which the movements were stored. Nothing is sent before the next page.</p>
      <form class="filters">
        <Field
          label="Since (UTC)"
          name="since"
          value={`${since.toISOString().slice(0, 19).replace('T', ' ')}Z`}
        />
        <Field label="Until (UTC)" name="until" value="" hint="now" />
        <Choice
          label="Status"
          name="status"
          value="failed"
          choices={[
            ['failed', 'failed for good'],
            ['delivered', 'delivered'],
            ['both', 'both'],
          ]}
        />
        <button type="submit" class="primary">
          Count them
        </button>
      </form>
      <a class="button" href={`/ops/webhooks/${webhook.id}`}>
        Back
      </a>
    </section>,
  );
}

async function confirm(c: Context<ApiEnv>, context: ConsoleContext, webhook: WebhookRow, range: Range) {
  const { matched } = await replay(c, context, webhook, range, { dryRun: true });
  if (matched === 0) return sayNone(c, webhook);
  const count = matched === null ? 'More than 100,000' : formatCount(matched);
  return sendConfirmation(c, 'Webhooks', {
    question: `Send ${count} deliveries of webhook ${webhook.id} “${webhook.title}” of ${webhook.customer} again?`,
    consequences: [
      `Each is sent to ${webhook.endpoint} with the same webhook-id as before, and a new retry schedule.`,
      range.status === 'failed'
        ? 'Only deliveries that have failed for good are sent. None was delivered before.'
        : 'The receiver gets notifications that it has answered with success before. It can tell them by their webhook-id.',
      ...(webhook.status === 'paused' ? ['The webhook is paused: they are sent when it is enabled.'] : []),
    ],
    button: 'Send them again',
    dangerous: range.status !== 'failed',
    fields: range,
    back: `/ops/webhooks/${webhook.id}/replay`,
  });
}

const pathOfReplay = (c: Context<ApiEnv>): string => `/v1/replays/${readId(c, 'replay', 'replay_id')}`;

async function confirmCancel(c: Context<ApiEnv>, context: ConsoleContext, webhook: WebhookRow) {
  const path = pathOfReplay(c);
  const response = await callApiFor(c, context, webhook.customer_id, { method: 'GET', path });
  const { replay } = v.parse(ProgressAnswer, await requireAnswer(response));
  const left = replay.left === null ? 'The others' : `The ${formatCount(replay.left)} that are left`;
  return sendConfirmation(c, 'Webhooks', {
    question: `Cancel replay ${replay.id} of webhook ${webhook.id} “${webhook.title}” of ${webhook.customer}?`,
    consequences: [
      `${left} are not sent. They are delivered or failed again, as before.`,
      `The ${formatCount(replay.sent)} that were sent stay. A POST that is in flight may still arrive.`,
      'Other deliveries of the webhook are sent.',
    ],
    button: 'Cancel the replay',
    dangerous: true,
    back: `/ops/webhooks/${webhook.id}`,
  });
}

const sayNone = (c: Context<ApiEnv>, { id, title }: WebhookRow) =>
  sendPage(
    c,
    { title: 'Replay', section: 'Webhooks' },
    <section class="confirm">
      <h1>
        No delivery of webhook {id} “{title}” matches. Nothing is sent.
      </h1>
      <a class="button primary" href={`/ops/webhooks/${id}/replay`}>
        Choose another range
      </a>
    </section>,
  );

async function replay(
  c: Context<ApiEnv>,
  context: ConsoleContext,
  { id, customer_id: customerId }: WebhookRow,
  { since, until, status }: Range,
  { dryRun }: { dryRun: boolean },
) {
  const response = await callApiFor(c, context, customerId, {
    method: 'POST',
    path: `/v1/webhooks/${id}/replay?dry_run=${dryRun}`,
    body: {
      since,
      ...(until === '' ? {} : { until }),
      status: status === 'both' ? ['failed', 'delivered'] : status,
    },
  });
  return v.parse(Answer, await requireAnswer(response)).replay;
}
