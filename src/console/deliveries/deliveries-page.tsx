import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { actFor } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import { type AttemptRow, batchOf, postOf, readAttempts } from '../../delivery/attempts.ts';
import {
  type FoundDelivery,
  findDelivery,
  LISTED_STATUSES,
  requireDeliveryId,
  viewDelivery,
} from '../../delivery/delivery.ts';
import { type DeliveryKey, formatDeliveryId } from '../../delivery/delivery-id.ts';
import { type RejectedBatchRow, readRejectedBatches } from '../../delivery/rejected-batches.ts';
import { ReplayProgressView, ReplayView } from '../../delivery/replay-view.ts';
import { rebuildRequest, type SentRequest } from '../../delivery/requests.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { Moment as MomentText } from '../../platform/moment.ts';
import { check } from '../../platform/validation.ts';
import { Id } from '../../platform/whole-numbers.ts';
import { WITH } from '../../verdict/template-view.ts';
import { readWebhooks, type WebhookRecord } from '../../webhook-record/record.ts';
import {
  attemptColumns,
  batchColumn,
  countEach,
  Events,
  groupByPost,
  type Post,
  rejectedColumns,
} from '../page/attempts.tsx';
import {
  Choice,
  type Column,
  CustomerLink,
  countOf,
  DeliveryLink,
  Facts,
  Field,
  FilterForm,
  formatCount,
  formatDuration,
  LinkButton,
  Moment,
  More,
  Notice,
  PeriodFields,
  pathWith,
  readFilters,
  Table,
  Tag,
  WebhookLink,
} from '../page/elements.tsx';
import { sendConfirmation, sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, callerFor, operatorOf, requireOwner } from '../page/operator.ts';
import { isPulled } from '../webhooks/explain-webhook.ts';
import { pulled } from '../webhooks/feed-actions.ts';
import { requireWebhook } from '../webhooks/webhook-page.tsx';
import {
  chooseWebhooks,
  type ListedDelivery,
  listAcross,
  MOST_WEBHOOKS,
  shownStatus,
} from './delivery-rows.ts';

/** The pages of the console that list deliveries, and show one with its attempts. */

const PER_PAGE = 50;

/** GET /ops/deliveries: the deliveries of one webhook, or of the webhooks that the filters select. Newest movements first. */
export const deliveriesPage = (runtime: Pick<Runtime, 'database' | 'config'>): Hono<ApiEnv> => {
  const { database, config } = runtime;
  const moment = v.optional(MomentText(config.zone));
  const Query = v.object({
    id: v.optional(v.string()),
    webhook: v.optional(Id),
    account: v.optional(Id),
    status: v.optional(v.picklist(LISTED_STATUSES)),
    since: moment,
    until: moment,
    before: v.optional(Id),
  });
  return new Hono<ApiEnv>().get('/', async (c) => {
    const { id, webhook, account, status, since, until, before } = readFilters(c, Query);
    if (id !== undefined) return c.redirect(`/ops/deliveries/${encodeURIComponent(id.replace(/^msg_/, ''))}`);
    const filters = { accountId: account ?? null, status: status ?? null };
    const ids = webhook === undefined ? await chooseWebhooks(database, filters) : [webhook];
    const found = await readWebhooks(database, ids.slice(0, MOST_WEBHOOKS));
    const [named] = webhook === undefined ? [] : found;
    if (named?.is_template === 1)
      return c.redirect(pathWith(`/ops/templates/${named.id}`, { having: WITH.find((it) => it === status) }));
    // The ids of events and of movements cannot be sorted together.
    const webhooks = found.filter(({ event }) => webhook !== undefined || !isOfEvents(event));
    const { deliveries, next } = await listAcross(
      database,
      webhooks,
      { ...filters, since, until, before: before ?? BEYOND_NEWEST },
      { perPage: PER_PAGE, callerOf: (customerId) => actFor(customerId, operatorOf(c, runtime)) },
    );
    const query = c.req.query();
    return sendPage(
      c,
      { title: 'Deliveries', section: 'Deliveries' },
      <>
        <h1>Deliveries</h1>
        <FilterForm>
          <Field label="Delivery id" name="id" value="" hint="17-4711" />
          <Field label="Webhook id" name="webhook" value={webhook} />
          <Field label="Account id" name="account" value={account} />
          <Choice label="Status" name="status" value={status} choices={[['', 'all'], ...LISTED_STATUSES]} />
          <PeriodFields since="Stored since" until="Stored until" filters={query} />
        </FilterForm>
        {ids.length > MOST_WEBHOOKS ? (
          <p class="calm">
            These are the deliveries of the {MOST_WEBHOOKS} webhooks with {meaning[status ?? 'any']}. Name a
            webhook to see all of its deliveries.
          </p>
        ) : null}
        <Table
          caption="Deliveries"
          columns={columns(new Date())}
          rows={groupByPost(deliveries, nameOfBatch)}
          empty={next === null ? 'There are none.' : 'None among the newest. There may be older ones.'}
        />
        <More label="Older deliveries" path="/ops/deliveries" filters={query} next={{ before: next }} />
      </>,
    );
  });
};

const meaning = {
  any: 'the newest results',
  delivered: 'the newest results',
  failed: 'the most failed deliveries',
  pending: 'the most pending deliveries',
} as const;

const TONES = { pending: 'warn', delivered: 'good', failed: 'bad', cancelled: 'calm' } as const;

/** The status of a delivery with its colour. */
export const DeliveryStatus = ({ status }: { status: keyof typeof TONES }) => (
  <Tag tone={TONES[status]}>{status}</Tag>
);

/** Names the batch of the last attempt of a delivery. null: there was none, or it was sent alone. */
const nameOfBatch = ({ row }: ListedDelivery): string | null => {
  const { batch_first, started_at } = row;
  return batch_first === null || started_at === null ? null : postOf({ ...row, batch_first, started_at });
};

/** Each kind once. */
const distinct = (texts: readonly (string | number)[]): string => [...new Set(texts)].join(', ');

/** The columns of a list in which the deliveries of a batch have one line. */
const columns = (now: Date): Column<Post<ListedDelivery>>[] => [
  {
    label: 'Delivery',
    cell: ({ events }) => (
      <Events
        events={events}
        show={(it) => (
          <>
            <DeliveryLink
              id={formatDeliveryId({ webhookId: it.webhook.id, subjectId: it.row.transaction_id })}
            />
            {events.length === 1 ? null : ` ${shownStatus(it)}`}
          </>
        )}
      />
    ),
  },
  {
    label: 'Status',
    cell: ({ first, events }) =>
      events.length === 1 ? (
        <DeliveryStatus status={shownStatus(first)} />
      ) : (
        countEach(events.map(shownStatus)).map(([status, count]) => (
          <Tag tone={TONES[status as keyof typeof TONES]}>
            {formatCount(count)} {status}
          </Tag>
        ))
      ),
  },
  {
    label: 'Webhook',
    kind: 'wide',
    cell: ({ first: { webhook } }) => <WebhookLink id={webhook.id} title={webhook.title} />,
  },
  {
    label: 'Customer',
    kind: 'wide',
    cell: ({ first: { webhook } }) => <CustomerLink id={webhook.customer_id} name={webhook.customer} />,
  },
  { label: 'Stored', cell: ({ first: { row } }) => <Moment at={row.created_at} now={now} /> },
  {
    label: 'Attempts',
    kind: 'number',
    cell: ({ first: { webhook }, events }) =>
      isPulled(webhook) ? '' : distinct(events.map(({ row }) => row.attempts ?? 0)),
  },
  { label: 'Last attempt', cell: ({ first: { row } }) => <Moment at={row.started_at} now={now} /> },
  {
    label: 'Due',
    cell({ events }) {
      const pending = events.find((it) => shownStatus(it) === 'pending');
      return pending === undefined ? '' : <Moment at={pending.row.due_at} now={now} />;
    },
  },
  {
    label: 'Answer',
    kind: 'wide',
    cell: ({ events }) => distinct(events.map(({ row }) => row.error ?? row.status_code ?? '')),
  },
];

interface Found {
  key: DeliveryKey;
  delivery: FoundDelivery;
  webhook: WebhookRecord;
}

/** /ops/deliveries/:id: shows the request and the answers of a delivery, and sends it again. */
export const deliveryRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database, secrets } = context.runtime;
  return new Hono<ApiEnv>()
    .get('/:id', async (c) => {
      const found = await requireDelivery(c, context.runtime);
      const { key, delivery } = found;
      const [attempts, rejected, sent] = await Promise.all([
        readAttempts(database, { webhookIds: [key.webhookId], subjectIds: [key.subjectId] }),
        readRejectedBatches(database, key),
        rebuildRequest(
          database,
          secrets,
          key,
          delivery.started_at && { startedAt: delivery.started_at, batchFirst: delivery.batch_first },
        ),
      ]);
      return sendPage(
        c,
        { title: `Delivery ${formatDeliveryId(key)}`, section: 'Deliveries' },
        <DeliveryPage
          found={found}
          attempts={attempts}
          rejected={rejected}
          sent={sent}
          done={c.req.query('done')}
        />,
      );
    })
    .get('/:id/redeliver', async (c) => {
      const { key, webhook, delivery } = await requireDelivery(c, context.runtime);
      if (isPulled(webhook)) throw pulled();
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
      const path = `/v1/deliveries/${id}/redeliver`;
      await callApiFor(c, context, webhook.customer_id, { method: 'POST', path });
      return c.redirect(`/ops/deliveries/${id}?done=redeliver`, 303);
    });
};

/** @throws {Problem} 404. */
async function requireDelivery(c: Context<ApiEnv>, runtime: Runtime): Promise<Found> {
  const { database } = runtime;
  const key = requireDeliveryId(c.req.param('id'));
  const owner = await requireOwner(database, 'delivery', key.webhookId, 'webhook');
  const delivery = await findDelivery(database, callerFor(c, runtime, owner), key);
  const [webhook] = await readWebhooks(database, [key.webhookId]);
  if (webhook === undefined) throw new Error(`webhook ${key.webhookId} has no cursor`);
  return { key, delivery, webhook };
}

/** Explains what a redelivery waits for. */
function explainRedelivery({ status, open_until, template_id }: WebhookRecord, now: Date): string {
  if (status === 'paused') return 'It is pending, and waits until the webhook is enabled.';
  if (open_until !== null && open_until > now)
    return `It waits, because the circuit of the endpoint is open. The next probe is in ${formatDuration(open_until.getTime() - now.getTime())}. You can probe now on the page of ${template_id === null ? 'the webhook' : `template ${template_id}`}.`;
  return 'It is due now. Reload this page to see the answer.';
}

interface DeliveryPageProps {
  found: Found;
  attempts: readonly AttemptRow[];
  rejected: readonly RejectedBatchRow[];
  sent: SentRequest | null;
  done: string | undefined;
}

function DeliveryPage({
  found: { key, delivery, webhook },
  attempts,
  rejected,
  sent,
  done,
}: DeliveryPageProps) {
  const now = new Date();
  const id = formatDeliveryId(key);
  const view = viewDelivery(delivery, webhook.status);
  const isFeed = isPulled(webhook);
  const { started_at, batch_first } = delivery;
  const lastBatch = started_at === null ? null : batchOf({ ...delivery, started_at });
  return (
    <>
      {done === 'redeliver' ? <Notice tone="good">{explainRedelivery(webhook, now)}</Notice> : null}
      <h1>
        Delivery {id} <DeliveryStatus status={view.status} />
      </h1>
      <nav class="actions" aria-label="What you can do">
        {!isFeed && (webhook.status === 'active' || webhook.status === 'paused') ? (
          <LinkButton primary href={`/ops/deliveries/${id}/redeliver`} text="Redeliver" />
        ) : null}
        {view.event_id === null ? (
          <LinkButton href={`/ops/trace?movement=${key.subjectId}`} text="Trace the movement" />
        ) : null}
      </nav>
      <Facts
        facts={[
          ['Webhook', <WebhookLink id={webhook.id} title={webhook.title} />],
          ['Customer', <CustomerLink id={webhook.customer_id} name={webhook.customer} />],
          [
            view.event_id === null ? 'Movement stored' : 'Event recorded',
            <Moment at={delivery.created_at} now={now} />,
          ],
          ...(isFeed
            ? []
            : ([
                ['Attempts', String(view.attempts)],
                ...(lastBatch === null ? [] : [['Batch', <code>{lastBatch}</code>] as const]),
                ['Due', <Moment at={view.due_at === null ? null : new Date(view.due_at)} now={now} />],
                [
                  'Finished',
                  <Moment at={view.finished_at === null ? null : new Date(view.finished_at)} now={now} />,
                ],
              ] as const)),
        ]}
      />
      {isFeed ? (
        <p>
          {view.status === 'delivered'
            ? 'The reader of the feed has acknowledged it.'
            : 'It is not sent. It waits in the feed until its reader acknowledges it.'}
        </p>
      ) : (
        <>
          <h2>Attempts</h2>
          <Table
            caption="Attempts"
            columns={[...attemptColumns(now), ...batchColumn(attempts)]}
            rows={attempts.toReversed()}
            empty="It has not been sent yet."
          />
          {rejected.length === 0 ? null : (
            <>
              <h2>Rejected batches</h2>
              <p>
                Batches with this event that the endpoint has rejected as a whole. Their events are sent again
                in smaller batches, and have no attempt by this.
              </p>
              <Table
                caption="Rejected batches"
                columns={rejectedColumns(now)}
                rows={rejected.toReversed()}
                empty=""
              />
            </>
          )}
          <h2>What is sent</h2>
          <Sent
            sent={sent}
            isEvent={view.event_id !== null}
            isLastAttempt={started_at !== null && sent?.isBatch === (batch_first !== null)}
          />
        </>
      )}
    </>
  );
}

/** @param props.isLastAttempt whether it is the request of the last attempt, and not one that would be sent now. */
const Sent = (props: { sent: SentRequest | null; isEvent: boolean; isLastAttempt: boolean }) =>
  props.sent === null ? (
    <p class="calm">
      The {props.isEvent ? 'operational event' : 'movement'} of this delivery has been deleted.
    </p>
  ) : (
    <>
      <p class="calm">
        {props.isLastAttempt
          ? 'As at the last attempt, with the settings that the webhook has now.'
          : 'As it would be sent now.'}{' '}
        {props.sent.isBatch ? 'It is a batch, shown without the events beside this one. ' : ''}
        The values of custom headers, the signature and the hash are masked.
      </p>
      <pre tabindex={0}>
        {`POST ${props.sent.url}\n${props.sent.headers.map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${props.sent.body}`}
      </pre>
    </>
  );

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
      // A body that is no form has no fields.
      const range = check(Range, await c.req.parseBody().catch(() => ({})));
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
      await callApiFor(c, context, webhook.customer_id, { method: 'POST', path });
      return c.redirect(`/ops/webhooks/${webhook.id}?done=cancel-replay`, 303);
    });
};

/** By default, the range begins when the endpoint began to fail, or a day ago. */
function askForRange(c: Context<ApiEnv>, webhook: WebhookRecord) {
  const since = webhook.failing_since ?? new Date(Date.now() - DAY);
  const isFeed = isPulled(webhook);
  return sendPage(
    c,
    { title: 'Replay', section: 'Webhooks' },
    <section class="confirm">
      <h1>
        Which deliveries of webhook {webhook.id} “{webhook.title}” are {isFeed ? 'read' : 'sent'} again?
      </h1>
      <p>
        Choose by the time at which the movements were stored. Nothing {isFeed ? 'changes' : 'is sent'} before
        the next page.
      </p>
      <form class="filters">
        <Field
          label="Since (UTC)"
          name="since"
          value={`${since.toISOString().slice(0, 19).replace('T', ' ')}Z`}
        />
        {isFeed ? null : (
          <>
            <Field label="Until (UTC)" name="until" value="" hint="now" />
            <Choice
              label="Status"
              name="status"
              value="failed"
              choices={[['failed', 'failed for good'], 'delivered', 'both']}
            />
          </>
        )}
        <button type="submit" class="primary">
          Count them
        </button>
      </form>
      <LinkButton href={`/ops/webhooks/${webhook.id}`} text="Back" />
    </section>,
  );
}

async function confirm(c: Context<ApiEnv>, context: ConsoleContext, webhook: WebhookRecord, range: Range) {
  const { matched } = await replay(c, context, webhook, range, { dryRun: true });
  if (matched === 0) return sayNone(c, webhook);
  if (isPulled(webhook)) return confirmFeed(c, webhook, range, matched ?? 0);
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

const confirmFeed = (
  c: Context<ApiEnv>,
  { id, title, customer, status }: WebhookRecord,
  range: Range,
  matched: number,
) =>
  sendConfirmation(c, 'Webhooks', {
    question: `Move the feed of webhook ${id} “${title}” of ${customer} back by ${countOf(matched, 'delivery', 'deliveries')}?`,
    consequences: [
      'Its reader gets these events again, with the same ids.',
      'Cursors from before are refused. Its reader must begin again without one.',
      ...(status === 'paused' ? ['The webhook is paused: its reader gets them when it is enabled.'] : []),
    ],
    button: 'Move the feed back',
    dangerous: true,
    fields: range,
    back: `/ops/webhooks/${id}/replay`,
  });

const pathOfReplay = (c: Context<ApiEnv>): string => `/v1/replays/${readId(c, 'replay', 'replay_id')}`;

async function confirmCancel(c: Context<ApiEnv>, context: ConsoleContext, webhook: WebhookRecord) {
  const path = pathOfReplay(c);
  const answer = await callApiFor(c, context, webhook.customer_id, { method: 'GET', path });
  const { replay } = v.parse(ProgressAnswer, answer);
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

const sayNone = (c: Context<ApiEnv>, { id, title }: WebhookRecord) =>
  sendPage(
    c,
    { title: 'Replay', section: 'Webhooks' },
    <section class="confirm">
      <h1>
        No delivery of webhook {id} “{title}” matches. Nothing is sent.
      </h1>
      <LinkButton primary href={`/ops/webhooks/${id}/replay`} text="Choose another range" />
    </section>,
  );

async function replay(
  c: Context<ApiEnv>,
  context: ConsoleContext,
  webhook: WebhookRecord,
  { since, until, status }: Range,
  { dryRun }: { dryRun: boolean },
) {
  // A feed can only move back to a moment.
  const which = isPulled(webhook)
    ? {}
    : {
        ...(until === '' ? {} : { until }),
        status: status === 'both' ? ['failed', 'delivered'] : status,
      };
  const answer = await callApiFor(c, context, webhook.customer_id, {
    method: 'POST',
    path: `/v1/webhooks/${webhook.id}/replay?dry_run=${dryRun}`,
    body: { since, ...which },
  });
  return v.parse(Answer, answer).replay;
}
