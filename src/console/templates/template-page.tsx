import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { notFound } from '../../platform/problem.ts';
import { Id } from '../../platform/whole-numbers.ts';
import {
  readTemplateFacts,
  readTemplateWebhooks,
  type TemplateFacts,
  type TemplateWebhookRow,
  viewTemplateWebhook,
  WITH,
} from '../../verdict/template-view.ts';
import { andToCome, readWebhookTroubles, type WebhookTrouble } from '../../verdict/webhooks.ts';
import { readWebhooks, type WebhookRecord } from '../../webhook-record/record.ts';
import { viewWebhook, type WebhookView } from '../../webhooks/webhook-view.ts';
import {
  Choice,
  type Column,
  CustomerLink,
  countOf,
  Done,
  Facts,
  FilterForm,
  formatCount,
  IdLink,
  LinkButton,
  Moment,
  More,
  readFilters,
  Table,
  Tag,
} from '../page/elements.tsx';
import { sendConfirmation, sendPage } from '../page/layout.tsx';
import type { ConsoleContext } from '../page/operator.ts';
import { explainWebhook, isPulled } from '../webhooks/explain-webhook.ts';
import { requireFeedAction } from '../webhooks/feed-actions.ts';
import { feedSettingsOf, settingsOf } from '../webhooks/webhook-facts.tsx';
import {
  ACTION_LABELS,
  actionsFor,
  confirmAction,
  FOR_TEMPLATE,
  perform,
} from '../webhooks/webhook-page.tsx';
import { WebhookState } from '../webhooks/webhooks-page.tsx';
import { describeCustomers } from './templates-section.tsx';

/** The page of one webhook template in the console: what its webhooks have in common, and the customers behind. */

const PER_PAGE = 50;

const Query = v.object({ having: v.optional(v.picklist(WITH)), after: v.optional(Id) });
type Having = v.InferOutput<typeof Query>['having'];

/** /ops/templates/:id and its actions. Each change has its own confirmation page, which sends a POST. */
export const templateRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database, secrets } = context.runtime;
  const routes = new Hono<ApiEnv>().get('/:id', async (c) => {
    const template = await requireTemplate(database, c);
    const { having, after = '0' } = readFilters(c, Query);
    const { id } = template;
    const [troubles, facts, found] = await Promise.all([
      readWebhookTroubles(database, [id]),
      readTemplateFacts(database, [id]),
      readTemplateWebhooks(database, id, { after, limit: PER_PAGE + 1, having }),
    ]);
    const rows = found.slice(0, PER_PAGE);
    return sendPage(
      c,
      { title: `Template ${id}`, section: 'Webhooks' },
      <TemplatePage
        template={template}
        settings={template.status === 'deleted' ? null : viewWebhook(template, secrets)}
        troubles={troubles.get(id) ?? []}
        facts={facts.get(id)}
        rows={rows}
        having={having}
        next={found.length > PER_PAGE ? (rows.at(-1)?.customer_id ?? null) : null}
        done={c.req.query('done')}
        now={new Date()}
      />,
    );
  });

  for (const action of FOR_TEMPLATE) {
    routes.get(`/:id/${action}`, async (c) => {
      const template = await requireTemplate(database, c);
      return sendConfirmation(c, 'Webhooks', {
        ...confirmAction(action, template),
        back: `/ops/templates/${template.id}`,
      });
    });
    routes.post(`/:id/${action}`, async (c) => {
      const template = await requireTemplate(database, c);
      if (isPulled(template)) requireFeedAction(action);
      return perform(c, context, action, template);
    });
  }
  return routes;
};

/** @throws {Problem} 404. */
async function requireTemplate(sql: Sql, c: Context<ApiEnv>): Promise<WebhookRecord> {
  const [template] = await readWebhooks(sql, [readId(c, 'webhook template')]);
  if (template?.is_template !== 1) throw notFound('webhook template');
  return template;
}

/** The messages on the template's page after an action. */
const DONE: Readonly<Record<string, string>> = {
  pause: 'The template is paused. Nothing more is sent for any customer.',
  enable: 'The template is enabled. Its webhooks are sent within ten seconds.',
  probe: 'A probe comes within ten seconds, if something is due. Reload this page to see its answer.',
  'raise-limit': 'The limit is raised. All of its webhooks follow it from now on.',
};

interface TemplatePageProps {
  template: WebhookRecord;
  /** null for a deleted template. */
  settings: WebhookView | null;
  troubles: readonly WebhookTrouble[];
  facts: TemplateFacts | undefined;
  /** The webhooks of this page, in the order of their customers. */
  rows: readonly TemplateWebhookRow[];
  having: Having;
  next: string | null;
  done: string | undefined;
  now: Date;
}

function TemplatePage({ template, troubles, facts, rows, having, next, ...props }: TemplatePageProps) {
  const { id } = template;
  const path = `/ops/templates/${id}`;
  return (
    <>
      <Done done={props.done} messages={DONE} />
      <p class="crumbs">
        <a href="/ops/webhooks">Webhooks</a> › Templates
      </p>
      <h1>
        Template {id} “{template.title}” <WebhookState webhook={template} troubles={troubles} />
      </h1>
      <p class="lead">
        {explainWebhook(template, troubles, null)} {explainLeft(facts)}
      </p>
      <nav class="actions" aria-label="What you can do">
        {actionsFor(template, troubles).map((action, index) => (
          <LinkButton
            primary={index === 0 && troubles.length > 0}
            href={`${path}/${action}`}
            text={ACTION_LABELS[action]}
          />
        ))}
      </nav>
      <TemplateSettings template={template} facts={facts} {...props} />
      <section>
        <h2>Customers</h2>
        <FilterForm>
          <Choice
            label="With deliveries that are"
            name="having"
            value={having}
            choices={[['', 'all'], ...WITH]}
          />
        </FilterForm>
        <Table caption="Customers" columns={columns} rows={rows.map(toCustomer)} empty="There are none." />
        <More label="More customers" path={path} filters={{ having }} next={{ after: next }} />
        <p class="calm">The numbers of the template are added up every ten seconds.</p>
      </section>
    </>
  );
}

/** Says how far the webhooks of a new or changed template are. "": each customer has its webhook. */
const explainLeft = (facts: TemplateFacts | undefined): string =>
  facts === undefined || facts.webhooks.customers_left === 0
    ? ''
    : `${countOf(facts.webhooks.customers_left, 'customer has', 'customers have')} still to be looked at.`;

type SettingsProps = Pick<TemplatePageProps, 'template' | 'settings' | 'facts' | 'now'>;

function TemplateSettings({ template, settings, facts, now }: SettingsProps) {
  const isFeed = isPulled(template);
  const of = (having: Having, count: string) => (
    <a href={`/ops/templates/${template.id}?having=${having}`}>{formatCount(Number(count))}</a>
  );
  return (
    <Facts
      facts={[
        isFeed ? ['Delivery', 'pull'] : ['Endpoint', <code>{template.endpoint}</code>],
        ...(facts === undefined
          ? []
          : ([
              ['Customers', describeCustomers(facts)],
              ['Webhooks', formatCount(facts.webhooks.active)],
              ['Ended', formatCount(facts.webhooks.ended)],
              ['Customers left', formatCount(facts.webhooks.customers_left)],
            ] as const)),
        [
          'Pending',
          <>
            {of('pending', template.pending)}
            {andToCome(template)}
          </>,
        ],
        ['Failed', of('failed', template.failed)],
        ['Delivered', formatCount(Number(template.delivered))],
        ...(isFeed
          ? []
          : ([
              ['Circuit', <CircuitFact template={template} now={now} />],
              ['Failing since', <Moment at={template.failing_since} now={now} />],
              ['Last error', template.last_error ?? 'none'],
            ] as const)),
        ...(settings === null ? [] : (isFeed ? feedSettingsOf : settingsOf)(settings, now)),
      ]}
    />
  );
}

const CircuitFact = ({ template: { circuit, open_until }, now }: Pick<SettingsProps, 'template' | 'now'>) => (
  <>
    {circuit.replace('_', '-')}
    {open_until === null ? null : (
      <>
        , next probe <Moment at={open_until} now={now} />
      </>
    )}
  </>
);

type Customer = ReturnType<typeof viewTemplateWebhook>;
const toCustomer = viewTemplateWebhook;

const TONES = { active: 'good', paused: 'warn', disabled: 'bad', ended: 'calm' } as const;

const countColumn = (label: string, status: keyof Customer['deliveries']): Column<Customer> => ({
  label,
  kind: 'number',
  cell: ({ id, deliveries }) => (
    <a href={`/ops/deliveries?webhook=${id}&status=${status}`}>{formatCount(deliveries[status])}</a>
  ),
});

const columns: Column<Customer>[] = [
  {
    label: 'Customer',
    kind: 'wide',
    cell: ({ customer: { id, name } }) => <CustomerLink id={String(id)} name={name} />,
  },
  { label: 'External id', kind: 'wide', cell: ({ customer }) => customer.external_id ?? '' },
  { label: 'Webhook', cell: ({ id }) => <IdLink to="/ops/webhooks/" id={id} /> },
  { label: 'Status', cell: ({ status }) => <Tag tone={TONES[status]}>{status}</Tag> },
  countColumn('Pending', 'pending'),
  countColumn('Failed', 'failed'),
  countColumn('Delivered', 'delivered'),
];
