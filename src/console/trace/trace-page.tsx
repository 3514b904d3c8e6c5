import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { showAmount } from '../../../packages/statements/src/amounts.ts';
import type { Sql } from '../../database/transaction.ts';
import { type AttemptRow, byTime, readAttempts } from '../../delivery/attempts.ts';
import { type FoundDelivery, findDeliveriesOf, viewDelivery } from '../../delivery/delivery.ts';
import type { ApiEnv } from '../../http/app.ts';
import { SENDER_NAME } from '../../ledger/sender.ts';
import { notFound } from '../../platform/problem.ts';
import { Id } from '../../platform/whole-numbers.ts';
import { readWebhooks, type WebhookRecord } from '../../webhook-record/record.ts';
import { DeliveryStatus } from '../deliveries/deliveries-page.tsx';
import { attemptColumns, batchColumn } from '../page/attempts.tsx';
import {
  type Column,
  CustomerLink,
  countOf,
  DeliveryLink,
  Facts,
  Moment,
  readFilters,
  Table,
  WebhookLink,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callerFor } from '../page/operator.ts';
import { type Hit, search } from './search.ts';

/** The page that finds objects by an id, and shows the history of one movement. */

export interface TracedMovement {
  id: string;
  customer_id: string;
  customer: string;
  account_id: string;
  account: string;
  bank: string;
  currency: string;
  import_id: string;
  unique_id: string;
  dc: string;
  amount: string;
  description: string | null;
  date_issue: string;
  date_readed: Date;
  import_received_at: Date | null;
  import_format: string | null;
  /** The source that has collected the movement. null: it was sent over the API, or the import was deleted. */
  source_id: string | null;
  /** The name of the API key or the operator that sent the movement. null: a source has collected it, or the key or the import was deleted. */
  sender: string | null;
  /** null: it was not withdrawn. */
  withdrawn_at: Date | null;
  withdrawn_reason: string | null;
}

/** Indexes: the primary keys and withdrawn_transactions_id, a row of each. */
const READ_MOVEMENT = (table: string, withdrawn: string, join = '') => `
  SELECT t.id, t.customer_id, u.name AS customer, t.account_id, a.title AS account, b.name AS bank, a.currency, t.import_id,
    CONVERT(t.unique_id USING utf8mb4) AS unique_id, t.dc, t.amount, t.description, t.date_issue, t.date_readed,
    i.received_at AS import_received_at, i.format AS import_format, i.source_id, ${SENDER_NAME} AS sender,
    ${withdrawn}
  FROM ${table} t JOIN customers u ON u.id = t.customer_id JOIN accounts a ON a.id = t.account_id
    JOIN banks b ON b.id = a.bank_id LEFT JOIN imports i ON i.id = t.import_id LEFT JOIN api_keys k ON k.id = i.api_key_id ${join}
  WHERE t.id = ?`;

const READ_STORED = READ_MOVEMENT('transactions', 'NULL AS withdrawn_at, NULL AS withdrawn_reason');
const READ_WITHDRAWN = READ_MOVEMENT(
  'withdrawn_transactions',
  't.withdrawn_at, o.reason AS withdrawn_reason',
  'LEFT JOIN withdrawals o ON o.id = t.withdrawal_id',
);

export async function readMovement(sql: Sql, id: string): Promise<TracedMovement | undefined> {
  const [movement] = [
    ...(await sql.query<TracedMovement[]>(READ_STORED, [id])),
    ...(await sql.query<TracedMovement[]>(READ_WITHDRAWN, [id])),
  ];
  return movement && { ...movement, amount: showAmount(movement.amount, movement.currency) };
}

const Query = v.object({
  q: v.optional(v.pipe(v.string(), v.maxLength(300))),
  movement: v.optional(Id),
  customer: v.optional(Id),
});

/** The most webhooks whose attempts are shown for a movement. */
const MOST_WEBHOOKS = 50;

/** GET /ops/trace: finds the objects with an id, and shows the history of a movement. */
export const tracePage = (context: ConsoleContext): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/', async (c) => {
    const { q, movement, customer } = readFilters(c, Query);
    if (movement !== undefined) return showMovement(c, context, movement);
    if (q === undefined) return showHits(c, '', []);
    const hits = await search(context.runtime.database, q, customer);
    const [only] = hits;
    return hits.length === 1 && only !== undefined ? c.redirect(only.href) : showHits(c, q, hits);
  });

const showHits = (c: Context, q: string, hits: readonly Hit[]) =>
  sendPage(
    c,
    { title: 'Trace', section: 'Trace', query: q },
    <>
      <h1>Trace</h1>
      <p>
        Enter the id or unique_id of a movement, to see when it came in and who was told of it. The ids of
        deliveries (17-4711 or msg_17-4711), webhooks, imports, sources, customers and accounts are found too,
        the IBAN or the number of an account, and the beginning of a customer’s name or of the title of an
        account, a webhook or a source. An amount and a customer, such as “1250.50 Acme”, lead to the
        movements with that amount.
      </p>
      <form class="filters">
        <label>
          <span>Id, unique_id, IBAN, title, customer, or amount and customer</span>
          <input name="q" type="search" value={q} maxlength={300} autocomplete="off" autofocus />
        </label>
        <button type="submit" class="primary">
          Find
        </button>
      </form>
      {q === '' ? null : (
        <>
          <h2>{hits.length === 0 ? 'Nothing was found' : `“${q}” may be`}</h2>
          <ul>
            {hits.map(({ kind, id, text, href }) => (
              <li>
                <a href={href}>
                  {kind} {id}
                </a>{' '}
                {text}
              </li>
            ))}
          </ul>
        </>
      )}
    </>,
  );

async function showMovement(c: Context<ApiEnv>, context: ConsoleContext, id: string) {
  const { database } = context.runtime;
  const movement = await readMovement(database, id);
  if (movement === undefined) throw notFound('movement');
  const caller = callerFor(c, context.runtime, movement.customer_id);
  const deliveries = await findDeliveriesOf(database, caller, id);
  const webhookIds = deliveries.slice(0, MOST_WEBHOOKS).map(({ webhook_id }) => webhook_id);
  const [webhooks, attempts] = await Promise.all([
    readWebhooks(database, webhookIds),
    readAttempts(database, {
      webhookIds,
      subjectIds: [...new Set([id, ...deliveries.map(({ transaction_id }) => transaction_id)])],
    }),
  ]);
  return sendPage(
    c,
    {
      title: `Movement ${id}`,
      section: 'Trace',
      query: movement.unique_id,
      customerId: movement.customer_id,
    },
    <Trace
      movement={movement}
      deliveries={deliveries}
      webhooks={webhooks}
      attempts={attempts.sort(byTime)}
    />,
  );
}

interface TraceProps {
  movement: TracedMovement;
  deliveries: readonly FoundDelivery[];
  webhooks: readonly WebhookRecord[];
  attempts: readonly AttemptRow[];
}

function Trace({ movement: it, deliveries, webhooks, attempts }: TraceProps) {
  const now = new Date();
  const titles = new Map(webhooks.map(({ id, title }) => [id, title]));
  const delivered = deliveries.filter(({ status }) => status === 'delivered').length;
  return (
    <>
      <h1>Movement {it.id}</h1>
      <p class="lead">
        It came in <Moment at={it.date_readed} now={now} /> with{' '}
        <a href={`/ops/imports/${it.import_id}`}>import {it.import_id}</a>
        <SentBy it={it} />. It concerns {countOf(deliveries.length, 'webhook')}, and{' '}
        {delivered === 1 ? '1 has' : `${delivered} have`} been told.
      </p>
      <Facts
        facts={[
          ['Customer', <CustomerLink id={it.customer_id} name={it.customer} />],
          ['Account', `${it.account_id}, ${it.account}, ${it.bank}`],
          ['unique_id', <code>{it.unique_id}</code>],
          ['Amount', `${it.dc} ${it.amount} ${it.currency}`],
          ['Date', it.date_issue],
          ['Stored', <Moment at={it.date_readed} now={now} />],
          ['Import received', <Moment at={it.import_received_at} now={now} />],
          ['Description', it.description ?? ''],
          ...(it.withdrawn_at === null
            ? []
            : ([
                [
                  'Withdrawn',
                  <>
                    <Moment at={it.withdrawn_at} now={now} />, {it.withdrawn_reason ?? ''}
                  </>,
                ],
              ] as const)),
        ]}
      />
      <h2>Whom it concerned</h2>
      <Table
        caption="Deliveries"
        columns={deliveryColumns(now, titles)}
        rows={deliveries}
        empty="No webhook matched it when it was stored."
      />
      <h2>When each was told, and what it answered</h2>
      <Table
        caption="Attempts"
        columns={[...tracedColumns(now, titles), ...batchColumn(attempts)]}
        rows={attempts}
        empty="Nothing has been sent yet."
      />
    </>
  );
}

const SentBy = ({ it: { sender, source_id } }: { it: TracedMovement }) => {
  if (source_id === null) return <>{sender === null ? '' : `, sent by ${sender}`}</>;
  return (
    <>
      , collected from <a href={`/ops/sources/${source_id}`}>source {source_id}</a>
    </>
  );
};

const deliveryColumns = (now: Date, titles: ReadonlyMap<string, string>): Column<FoundDelivery>[] => [
  {
    label: 'Webhook',
    kind: 'wide',
    cell: ({ webhook_id }) => <WebhookLink id={webhook_id} title={titles.get(webhook_id) ?? ''} />,
  },
  {
    label: 'Delivery',
    cell: (it) => <DeliveryLink id={viewDelivery(it).id} />,
  },
  { label: 'Status', cell: (it) => <DeliveryStatus status={viewDelivery(it, it.webhook_status).status} /> },
  {
    label: 'Attempts',
    kind: 'number',
    cell: ({ webhook_delivery, attempts }) => (webhook_delivery === 'pull' ? '' : (attempts ?? 0)),
  },
  {
    label: 'Finished',
    cell: (it) => {
      const { finished_at } = viewDelivery(it, it.webhook_status);
      return <Moment at={finished_at === null ? null : new Date(finished_at)} now={now} />;
    },
  },
  { label: 'Last error', kind: 'wide', cell: (it) => viewDelivery(it).last_error ?? '' },
];

function tracedColumns(now: Date, titles: ReadonlyMap<string, string>): Column<AttemptRow>[] {
  const webhook: Column<AttemptRow> = {
    label: 'Webhook',
    kind: 'wide',
    cell: ({ webhook_id }) => <WebhookLink id={webhook_id} title={titles.get(webhook_id) ?? ''} />,
  };
  const [time, ...others] = attemptColumns(now);
  return [...(time === undefined ? [] : [time]), webhook, ...others];
}
