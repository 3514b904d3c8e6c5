import { type AttemptSummary, summarizeAttempts } from '../deliveries/delivery-rows.ts';
import {
  type Column,
  formatCount,
  formatDuration,
  formatShare,
  Moment,
  Table,
  Tag,
  WebhookLink,
} from '../page/elements.tsx';
import { andToCome, type WebhookRow } from './webhook-rows.ts';

/** How the console describes webhooks in tables. */

/** The state of a webhook in one or two words, with its colour. */
export function WebhookState({ webhook: it, now }: { webhook: WebhookRow; now: Date }) {
  if (it.status === 'disabled') return <Tag tone="bad">disabled</Tag>;
  if (it.status === 'deleted') return <Tag tone="calm">deleted</Tag>;
  if (it.status === 'paused')
    return it.status_reason === null ? <Tag tone="calm">paused</Tag> : <Tag tone="bad">quarantined</Tag>;
  if (it.open_until !== null) {
    return (
      <>
        <Tag tone="bad">circuit open</Tag>{' '}
        <span class="calm">
          next probe <Moment at={it.open_until} now={now} />
        </span>
      </>
    );
  }
  if (it.behindSince !== undefined) {
    return (
      <>
        <Tag tone="warn">behind</Tag>{' '}
        <span class="calm">
          oldest pending <Moment at={it.behindSince} now={now} />
        </span>
      </>
    );
  }
  if (it.failing_since !== null)
    return <Tag tone="warn">{it.circuit_openings > 0 ? 'probing' : 'failing'}</Tag>;
  return it.circuit_openings > 0 ? <Tag tone="warn">recovering</Tag> : <Tag tone="good">active</Tag>;
}

/** The columns of every table of webhooks. */
export const webhookColumns = (now: Date): Column<WebhookRow>[] => [
  { label: 'Webhook', kind: 'wide', cell: ({ id, title }) => <WebhookLink id={id} title={title} /> },
  {
    label: 'Customer',
    kind: 'wide',
    cell: ({ customer_id, customer }) => <a href={`/ops/webhooks?customer=${customer_id}`}>{customer}</a>,
  },
  { label: 'State', cell: (it) => <WebhookState webhook={it} now={now} /> },
  { label: 'Failing since', cell: ({ failing_since }) => <Moment at={failing_since} now={now} /> },
  { label: 'Pending', kind: 'number', cell: (it) => `${formatCount(Number(it.pending))}${andToCome(it)}` },
  {
    label: 'Last error',
    kind: 'wide',
    cell: ({ status_reason, last_error }) => status_reason ?? last_error ?? '',
  },
];

export const WebhooksInTrouble = ({
  rows,
  columns,
}: {
  rows: readonly WebhookRow[];
  columns: readonly Column<WebhookRow>[];
}) => (
  <Table
    caption="Webhooks in trouble"
    columns={columns}
    rows={rows}
    empty="None: every endpoint has answered its last notification, and nothing waits for long."
  />
);

const NO_ATTEMPTS: AttemptSummary = summarizeAttempts([]);

/** The same columns, with the results of recent attempts. @param recent by the id of the webhook. */
export const webhookColumnsWithAttempts = (
  now: Date,
  recent: ReadonlyMap<string, AttemptSummary>,
): Column<WebhookRow>[] => {
  const summaryOf = ({ id }: WebhookRow) => recent.get(id) ?? NO_ATTEMPTS;
  const columns = webhookColumns(now);
  return [
    ...columns.slice(0, -1),
    {
      label: 'p95',
      kind: 'number',
      cell: (it) => {
        const { p95 } = summaryOf(it);
        return p95 === null ? '–' : formatDuration(p95);
      },
    },
    { label: 'Success', kind: 'number', cell: (it) => formatShare(summaryOf(it).successShare) },
    ...columns.slice(-1),
  ];
};
