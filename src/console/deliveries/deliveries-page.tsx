import { Hono } from 'hono';
import * as v from 'valibot';
import { actFor } from '../../api/within-process.ts';
import type { Runtime } from '../../database/runtime.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import { formatDeliveryId, LISTED_STATUSES } from '../../delivery/delivery.ts';
import type { ApiEnv } from '../../http/app.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { Moment as MomentText } from '../../platform/moment.ts';
import { Id } from '../../platform/validation.ts';
import {
  Choice,
  type Column,
  DeliveryLink,
  Field,
  Moment,
  More,
  Table,
  Tag,
  WebhookLink,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { operatorOf } from '../page/operator.ts';
import { pathWith, readFilters } from '../page/read-filters.ts';
import { readWebhookRows } from '../webhooks/webhook-rows.ts';
import {
  chooseWebhooks,
  type ListedDelivery,
  listAcross,
  MOST_WEBHOOKS,
  shownStatus,
} from './delivery-rows.ts';

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
    const found = await readWebhookRows(database, ids.slice(0, MOST_WEBHOOKS));
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
        <form class="filters">
          <Field label="Delivery id" name="id" value="" hint="17-4711" />
          <Field label="Webhook id" name="webhook" value={webhook} />
          <Field label="Account id" name="account" value={account} />
          <Choice
            label="Status"
            name="status"
            value={status}
            choices={[['', 'all'], ...LISTED_STATUSES.map((it) => [it, it] as const)]}
          />
          <Field label="Stored since" name="since" value={query.since} hint="2026-01-31 12:00:00" />
          <Field label="Stored until" name="until" value={query.until} hint="2026-01-31 13:00:00" />
          <button type="submit">Show</button>
        </form>
        {ids.length > MOST_WEBHOOKS ? (
          <p class="calm">
            These are the deliveries of the {MOST_WEBHOOKS} webhooks with {meaning[status ?? 'any']}. Name a
            webhook to see all of its deliveries.
          </p>
        ) : null}
        <Table
          caption="Deliveries"
          columns={columns(new Date())}
          rows={deliveries}
          empty={next === null ? 'There are none.' : 'None among the newest. There may be older ones.'}
        />
        <More
          label="Older deliveries"
          href={next === null ? null : pathWith('/ops/deliveries', { ...query, before: next })}
        />
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

const columns = (now: Date): Column<ListedDelivery>[] => [
  {
    label: 'Delivery',
    cell: ({ webhook, row }) => (
      <DeliveryLink id={formatDeliveryId({ webhookId: webhook.id, transactionId: row.transaction_id })} />
    ),
  },
  { label: 'Status', cell: (it) => <DeliveryStatus status={shownStatus(it)} /> },
  {
    label: 'Webhook',
    kind: 'wide',
    cell: ({ webhook }) => <WebhookLink id={webhook.id} title={webhook.title} />,
  },
  { label: 'Customer', kind: 'wide', cell: ({ webhook }) => webhook.customer },
  { label: 'Stored', cell: ({ row }) => <Moment at={row.created_at} now={now} /> },
  { label: 'Attempts', kind: 'number', cell: ({ row }) => row.attempts ?? 0 },
  { label: 'Last attempt', cell: ({ row }) => <Moment at={row.started_at} now={now} /> },
  {
    label: 'Due',
    cell: (it) => (shownStatus(it) === 'pending' ? <Moment at={it.row.due_at} now={now} /> : ''),
  },
  { label: 'Answer', kind: 'wide', cell: ({ row }) => row.error ?? row.status_code ?? '' },
];
