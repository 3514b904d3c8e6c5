import { type Context, Hono } from 'hono';
import type { Runtime } from '../../database/runtime.ts';
import {
  type AttemptRow,
  type DeliveryKey,
  type FoundDelivery,
  findDelivery,
  formatDeliveryId,
  readAttempts,
  requireDeliveryId,
  viewDelivery,
} from '../../delivery/delivery.ts';
import { rebuildRequest, type SentRequest } from '../../delivery/requests.ts';
import type { ApiEnv } from '../../http/app.ts';
import { Facts, formatDuration, Moment, Notice, Table, WebhookLink } from '../page/elements.tsx';
import { sendConfirmation } from '../page/error-page.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, callerFor, findOwner, requireAnswer } from '../page/operator.ts';
import { attemptColumns } from '../page/timeline.tsx';
import { readWebhookRows, type WebhookRow } from '../webhooks/webhook-rows.ts';
import { DeliveryStatus } from './deliveries-page.tsx';

interface Found {
  key: DeliveryKey;
  delivery: FoundDelivery;
  webhook: WebhookRow;
}

/** /ops/deliveries/:id: shows the request and the answers of a delivery, and sends it again. */
export const deliveryRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database, secrets } = context.runtime;
  return new Hono<ApiEnv>()
    .get('/:id', async (c) => {
      const found = await requireDelivery(c, context.runtime);
      const { key, delivery } = found;
      const [attempts, sent] = await Promise.all([
        readAttempts(database, { webhookIds: [key.webhookId], transactionIds: [key.transactionId] }),
        rebuildRequest(database, secrets, key, delivery.started_at ?? new Date()),
      ]);
      return sendPage(
        c,
        { title: `Delivery ${formatDeliveryId(key)}`, section: 'Deliveries' },
        <DeliveryPage found={found} attempts={attempts} sent={sent} done={c.req.query('done')} />,
      );
    })
    .get('/:id/redeliver', async (c) => {
      const { key, webhook, delivery } = await requireDelivery(c, context.runtime);
      const id = formatDeliveryId(key);
      return sendConfirmation(c, 'Deliveries', {
        question: `Send delivery ${id} of ${webhook.customer} again?`,
        consequences: [
          `One notification is sent to ${webhook.endpoint}, with the same webhook-id, and retried as usual.`,
          ...(delivery.status === 'delivered'
            ? ['It was answered with success before. The receiver gets it a second time.']
            : []),
          ...(webhook.status === 'paused' ? ['The webhook is paused: it is sent when it is enabled.'] : []),
        ],
        button: 'Send it again',
        back: `/ops/deliveries/${id}`,
      });
    })
    .post('/:id/redeliver', async (c) => {
      const { key, webhook } = await requireDelivery(c, context.runtime);
      const id = formatDeliveryId(key);
      await requireAnswer(
        await callApiFor(c, context, webhook.customer_id, {
          method: 'POST',
          path: `/v1/deliveries/${id}/redeliver`,
        }),
      );
      return c.redirect(`/ops/deliveries/${id}?done=redeliver`, 303);
    });
};

/** @throws {Problem} 404. */
async function requireDelivery(c: Context<ApiEnv>, runtime: Runtime): Promise<Found> {
  const { database } = runtime;
  const key = requireDeliveryId(c.req.param('id'));
  const owner = await findOwner(database, 'webhook', key.webhookId);
  const delivery = await findDelivery(database, callerFor(c, runtime, owner), key);
  const [webhook] = await readWebhookRows(database, [key.webhookId]);
  if (webhook === undefined) throw new Error(`webhook ${key.webhookId} has no cursor`);
  return { key, delivery, webhook };
}

/** Explains what a redelivery waits for. */
function explainRedelivery({ status, open_until }: WebhookRow, now: Date): string {
  if (status === 'paused') return 'It is pending, and waits until the webhook is enabled.';
  if (open_until !== null && open_until > now)
    return `It waits, because the circuit of the endpoint is open. The next probe is in ${formatDuration(open_until.getTime() - now.getTime())}. You can probe now on the page of the webhook.`;
  return 'It is due now. Reload this page to see the answer.';
}

function DeliveryPage({
  found: { key, delivery, webhook },
  attempts,
  sent,
  done,
}: {
  found: Found;
  attempts: readonly AttemptRow[];
  sent: SentRequest | null;
  done: string | undefined;
}) {
  const now = new Date();
  const id = formatDeliveryId(key);
  const view = viewDelivery(delivery, webhook.status);
  return (
    <>
      {done === 'redeliver' ? <Notice tone="good">{explainRedelivery(webhook, now)}</Notice> : null}
      <h1>
        Delivery {id} <DeliveryStatus status={view.status} />
      </h1>
      <nav class="actions" aria-label="What you can do">
        {webhook.status === 'active' || webhook.status === 'paused' ? (
          <a class="button primary" href={`/ops/deliveries/${id}/redeliver`}>
            Redeliver
          </a>
        ) : null}
        {view.event_id === null ? (
          <a class="button" href={`/ops/trace?movement=${key.transactionId}`}>
            Trace the movement
          </a>
        ) : null}
      </nav>
      <Facts
        facts={[
          ['Webhook', <WebhookLink id={webhook.id} title={webhook.title} />],
          ['Customer', webhook.customer],
          [
            view.event_id === null ? 'Movement stored' : 'Event recorded',
            <Moment at={delivery.created_at} now={now} />,
          ],
          ['Attempts', String(view.attempts)],
          ['Due', <Moment at={view.due_at === null ? null : new Date(view.due_at)} now={now} />],
          [
            'Finished',
            <Moment at={view.finished_at === null ? null : new Date(view.finished_at)} now={now} />,
          ],
        ]}
      />
      <h2>Attempts</h2>
      <Table
        caption="Attempts"
        columns={attemptColumns(now)}
        rows={attempts.toReversed()}
        empty="It has not been sent yet."
      />
      <h2>What is sent</h2>
      <Sent sent={sent} isEvent={view.event_id !== null} attempted={attempts.length > 0} />
    </>
  );
}

const Sent = ({
  sent,
  isEvent,
  attempted,
}: {
  sent: SentRequest | null;
  isEvent: boolean;
  attempted: boolean;
}) =>
  sent === null ? (
    <p class="calm">The {isEvent ? 'operational event' : 'movement'} of this delivery has been deleted.</p>
  ) : (
    <>
      <p class="calm">
        {attempted
          ? 'As at the last attempt, with the settings that the webhook has now.'
          : 'As it would be sent now.'}{' '}
        The values of custom headers, the signature and the hash are masked.
      </p>
      <pre tabindex={0}>
        {`POST ${sent.url}\n${sent.headers.map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${sent.body}`}
      </pre>
    </>
  );
