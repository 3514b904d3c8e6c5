import { Hono } from 'hono';
import * as v from 'valibot';
import type { Runtime } from '../../database/runtime.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { cutPage } from '../../platform/page.ts';
import { Id } from '../../platform/whole-numbers.ts';
import { readTemplateFacts } from '../../verdict/template-view.ts';
import {
  andToCome,
  kindOf,
  nameWebhookTroubles,
  readWebhookTroubles,
  type WebhookTrouble,
} from '../../verdict/webhooks.ts';
import { readWebhooks, type WebhookRecord } from '../../webhook-record/record.ts';
import { stateWords } from '../../webhook-record/state-words.ts';
import { findWebhooks } from '../../webhooks/find-webhook.ts';
import { findTemplates, MOST_TEMPLATES } from '../../webhooks/templates.ts';
import { type AttemptSummary, readRecentAttempts, summarizeAttempts } from '../deliveries/newest-attempts.ts';
import {
  type Column,
  customerColumn,
  Field,
  FilterForm,
  formatCount,
  formatDuration,
  formatShare,
  Moment,
  More,
  readFilters,
  Table,
  Tag,
  Troubles,
  WebhookLink,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { callerFor } from '../page/operator.ts';
import { TemplatesSection } from '../templates/templates-section.tsx';
import { isPulled } from './explain-webhook.ts';

/** How the console describes webhooks in tables. */

/** The state of a webhook in one or two words, with its colour. */
export function WebhookState({
  webhook: it,
  troubles,
}: {
  webhook: WebhookRecord;
  troubles: readonly WebhookTrouble[];
}) {
  const { status, circuit } = it;
  const words = stateWords({ status, kinds: troubles.map(kindOf), circuit });
  if (troubles.length > 0)
    return (
      <>
        {troubles.map(({ severity, nextAttemptIn }, index) => (
          <>
            <Tag tone={severity === 'failing' || status === 'disabled' ? 'bad' : 'warn'}>{words[index]}</Tag>{' '}
            {nextAttemptIn == null ? null : (
              <span class="calm">
                next attempt {nextAttemptIn === 0 ? 'now' : `in ${formatDuration(nextAttemptIn)}`}{' '}
              </span>
            )}
          </>
        ))}
      </>
    );
  if (status !== 'active') return <Tag tone="calm">{status}</Tag>;
  const [word] = words;
  return word === undefined ? <Tag tone="good">active</Tag> : <Tag tone="warn">{word}</Tag>;
}

/** The columns of every table of webhooks. */
export const webhookColumns = (
  now: Date,
  troubles: ReadonlyMap<string, readonly WebhookTrouble[]>,
): Column<WebhookRecord>[] => [
  { label: 'Webhook', kind: 'wide', cell: ({ id, title }) => <WebhookLink id={id} title={title} /> },
  customerColumn(),
  {
    label: 'State',
    cell: (it) => (
      <>
        <WebhookState webhook={it} troubles={troubles.get(it.id) ?? []} />
        {isPulled(it) ? <span class="calm"> pulled</span> : null}
      </>
    ),
  },
  { label: 'Failing since', cell: ({ failing_since }) => <Moment at={failing_since} now={now} /> },
  { label: 'Pending', kind: 'number', cell: (it) => `${formatCount(Number(it.pending))}${andToCome(it)}` },
  {
    label: 'Last error',
    kind: 'wide',
    cell: ({ status_reason, last_error }) => status_reason ?? last_error ?? '',
  },
];

const NO_ATTEMPTS: AttemptSummary = summarizeAttempts([]);

/** The same columns, with the results of recent attempts. @param recent by the id of the webhook. */
const webhookColumnsWithAttempts = (
  columns: readonly Column<WebhookRecord>[],
  recent: ReadonlyMap<string, AttemptSummary>,
): Column<WebhookRecord>[] => {
  const summaryOf = ({ id }: WebhookRecord) => recent.get(id) ?? NO_ATTEMPTS;
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

const PER_PAGE = 50;

/** How many attempts of each webhook are used for p95 and the success rate. */
const ATTEMPTS = 100;

const Query = v.object({ customer: v.optional(Id), after: v.optional(Id) });

/** GET /ops/webhooks: first the webhooks in trouble, then the templates, then all other webhooks. */
export const webhooksPage = (runtime: Runtime): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/', async (c) => {
    const { database } = runtime;
    const { customer, after } = readFilters(c, Query);
    const now = new Date();
    const isFirst = customer === undefined && after === undefined;
    const [{ troubles }, foundTemplates, found] = await Promise.all([
      isFirst ? nameWebhookTroubles(database, PER_PAGE) : { troubles: [] },
      isFirst ? findTemplates(database, { after: '0', limit: MOST_TEMPLATES }) : [],
      findWebhooks(database, customer === undefined ? null : callerFor(c, runtime, customer), {
        after: after ?? '0',
        limit: PER_PAGE + 1,
      }),
    ]);
    const { rows, next } = cutPage(found, PER_PAGE);
    const ids = rows.map(({ id }) => id);
    const templateIds = foundTemplates.map(({ id }) => id);
    const [templates, facts, all, ofTemplates, ofListed, recent] = await Promise.all([
      readWebhooks(database, templateIds),
      readTemplateFacts(database, templateIds),
      readWebhooks(database, ids),
      readWebhookTroubles(database, templateIds),
      readWebhookTroubles(database, ids),
      summarizeRecent(database, ids),
    ]);
    const columns = webhookColumnsWithAttempts(webhookColumns(now, ofListed), recent);
    const owner = customer === undefined ? undefined : all[0]?.customer;
    return sendPage(
      c,
      { title: 'Webhooks', section: 'Webhooks' },
      <>
        <h1>Webhooks{owner === undefined ? '' : ` of ${owner}`}</h1>
        <FilterForm>
          <Field label="Customer id" name="customer" value={customer} />
        </FilterForm>
        {isFirst ? (
          <section>
            <h2>In trouble</h2>
            <Troubles
              troubles={troubles}
              now={now}
              empty="None: every endpoint has answered its last notification, and nothing waits for long."
            />
          </section>
        ) : null}
        <TemplatesSection templates={templates} facts={facts} columns={webhookColumns(now, ofTemplates)} />
        <section>
          <h2>All</h2>
          <Table caption="All webhooks" columns={columns} rows={all} empty="There are none." />
          <More label="More webhooks" path="/ops/webhooks" filters={{ customer }} next={{ after: next }} />
          <p class="calm">p95 and success are those of the last {ATTEMPTS} deliveries of each webhook.</p>
        </section>
      </>,
    );
  });

/** Summaries of recent attempts, by the id of the webhook. */
async function summarizeRecent(
  sql: Sql,
  webhookIds: readonly string[],
): Promise<ReadonlyMap<string, AttemptSummary>> {
  const attempts = await readRecentAttempts(sql, webhookIds, ATTEMPTS);
  return new Map(
    webhookIds.map((id) => [id, summarizeAttempts(attempts.filter(({ webhook_id }) => webhook_id === id))]),
  );
}
