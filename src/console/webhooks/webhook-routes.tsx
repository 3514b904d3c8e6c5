import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { recordChange } from '../../customers/audit.ts';
import { Webhook } from '../../database/entities.ts';
import type { Sql } from '../../database/transaction.ts';
import { probeNow } from '../../delivery/reconcile.ts';
import { readReplays } from '../../delivery/replay-view.ts';
import { wakeChangedWebhook } from '../../delivery/wake.ts';
import { readStates } from '../../delivery/webhook-state.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { notFound } from '../../platform/problem.ts';
import { findDeliveryJob, type Queues } from '../../platform/queues.ts';
import { viewWebhook } from '../../webhooks/webhook-view.ts';
import { findPauser } from '../audit/audit-page.tsx';
import { readNewestAttempts } from '../deliveries/delivery-rows.ts';
import { sendConfirmation } from '../page/error-page.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, callerFor, requireAnswer } from '../page/operator.ts';
import { DASHBOARD_PATH } from '../queues/dashboard.ts';
import { confirmAction, WEBHOOK_ACTIONS, type WebhookAction, WebhookPage } from './webhook-page.tsx';
import { readWebhookRows, type WebhookRow } from './webhook-rows.ts';

const ATTEMPTS = 50;

/** How many of the newest replays are looked at. */
const REPLAYS = 100;

/** /ops/webhooks/:id and its actions. Each change has its own confirmation page, which sends a POST. */
export const webhookRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database, secrets, queues } = context.runtime;
  const routes = new Hono<ApiEnv>().get('/:id', async (c) => {
    const webhook = await requireWebhook(database, c);
    const { id } = webhook;
    const [entity, attempts, [run], job, pausedBy, replays] = await Promise.all([
      database.getRepository(Webhook).findOneByOrFail({ id }),
      readNewestAttempts(database, id, ATTEMPTS),
      readStates(database, [id]),
      findJob(queues, id),
      webhook.status === 'paused' ? findPauser(database, id) : null,
      readReplays(database, id, { before: null, limit: REPLAYS }),
    ]);
    const settings = webhook.status === 'deleted' ? null : await viewWebhook({ database, secrets }, entity);
    return sendPage(
      c,
      { title: `Webhook ${id}`, section: 'Webhooks' },
      <WebhookPage
        webhook={webhook}
        settings={settings}
        attempts={attempts}
        run={run ?? null}
        job={job}
        pausedBy={pausedBy}
        replays={replays.filter(({ state }) => state === 'running').reverse()}
        done={c.req.query('done')}
        now={new Date()}
      />,
    );
  });

  for (const action of WEBHOOK_ACTIONS) {
    routes.get(`/:id/${action}`, async (c) => {
      const webhook = await requireWebhook(database, c);
      return sendConfirmation(c, 'Webhooks', {
        ...confirmAction(action, webhook),
        back: `/ops/webhooks/${webhook.id}`,
      });
    });
    routes.post(`/:id/${action}`, async (c) => {
      const webhook = await requireWebhook(database, c);
      return perform(c, context, action, webhook);
    });
  }
  return routes;
};

/** @throws {Problem} 404. */
export async function requireWebhook(sql: Sql, c: Context<ApiEnv>): Promise<WebhookRow> {
  const [webhook] = await readWebhookRows(sql, [readId(c, 'webhook')]);
  if (webhook === undefined) throw notFound('webhook');
  return webhook;
}

const RotatedSecret = v.object({ webhook: v.object({ secret: v.string() }) });
const Test = v.object({
  test: v.object({
    status_code: v.nullable(v.number()),
    error: v.nullable(v.string()),
    reason: v.optional(v.string()),
  }),
});

async function perform(
  c: Context<ApiEnv>,
  context: ConsoleContext,
  action: WebhookAction,
  { id, customer_id: customerId }: WebhookRow,
) {
  const { runtime } = context;
  const path = `/v1/webhooks/${id}`;
  const ask = (method: string, at: string, body?: object) =>
    callApiFor(c, context, customerId, { method, path: at, ...(body === undefined ? {} : { body }) });
  const done = () => c.redirect(`/ops/webhooks/${id}?done=${action}`, 303);
  switch (action) {
    case 'pause':
    case 'enable':
      await requireAnswer(await ask('PATCH', path, { status: action === 'pause' ? 'paused' : 'active' }));
      return done();
    case 'probe':
      await probeNow(runtime.database, id, (sql) =>
        recordChange(sql, callerFor(c, runtime, customerId), { action: 'probe', subject: `webhook ${id}` }),
      );
      await wakeChangedWebhook(runtime, id);
      return done();
    case 'test': {
      const { test } = v.parse(Test, await requireAnswer(await ask('POST', `${path}/test`)));
      const answer = test.status_code === null ? 'No answer' : `The endpoint answered ${test.status_code}`;
      const problem = test.error === 'no answer' ? (test.reason ?? null) : test.error;
      return sendPage(
        c,
        { title: 'Test notification', section: 'Webhooks' },
        <section class="confirm">
          <h1>{problem === null ? answer : `${answer}: ${problem}`}.</h1>
          <a class="button primary" href={`/ops/webhooks/${id}`}>
            Back to webhook {id}
          </a>
        </section>,
      );
    }
    case 'rotate-secret': {
      const answer = await requireAnswer(await ask('POST', `${path}/rotate-secret`));
      const { webhook } = v.parse(RotatedSecret, answer);
      return sendPage(
        c,
        { title: 'The new secret', section: 'Webhooks' },
        <section class="confirm">
          <h1>The new secret of webhook {id}</h1>
          <p>Give it to the customer now. It is not shown again. For 24 hours, the previous one signs too.</p>
          <p>
            <code class="secret">{webhook.secret}</code>
          </p>
          <a class="button primary" href={`/ops/webhooks/${id}`}>
            Back to webhook {id}
          </a>
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
