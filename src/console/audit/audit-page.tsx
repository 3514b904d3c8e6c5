import { Hono } from 'hono';
import * as v from 'valibot';
import { AUDIT_SOURCES, type AuditEvent, readAudit } from '../../customers/read-audit.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { cutPage } from '../../platform/page.ts';
import { Id } from '../../platform/whole-numbers.ts';
import {
  Choice,
  type Column,
  CustomerLink,
  Field,
  FilterForm,
  Moment,
  More,
  readFilters,
  Table,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';

/** Reads the audit log. */

const PER_PAGE = 100;

const Query = v.object({
  subject: v.optional(v.string()),
  customer: v.optional(Id),
  source: v.optional(v.picklist(AUDIT_SOURCES)),
  before: v.optional(Id),
});

/** GET /ops/audit: the changes and who made them, the newest first. */
export const auditPage = ({ database }: Pick<Runtime, 'database'>): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/', async (c) => {
    const { subject, customer, source, before } = readFilters(c, Query);
    const found = await readAudit(
      database,
      {
        subject: subject ?? null,
        customerId: customer ?? null,
        source: source ?? null,
        before: before ?? BEYOND_NEWEST,
      },
      PER_PAGE + 1,
    );
    const { rows, next } = cutPage(found, PER_PAGE);
    return sendPage(
      c,
      { title: 'Audit', section: 'Audit' },
      <>
        <h1>Audit</h1>
        <p class="calm">
          Every change by an API key, in the console, by the command line, or by a change of OPS_WEBHOOK_URL.
          Imports are listed on their own page.
        </p>
        <FilterForm>
          <Field label="What was changed" name="subject" value={subject} hint="webhook 12" />
          <Field label="Customer id" name="customer" value={customer} />
          <Choice
            label="Where"
            name="source"
            value={source}
            choices={[['', 'everywhere'], ...AUDIT_SOURCES]}
          />
        </FilterForm>
        <Table caption="Changes" columns={columns(new Date())} rows={rows} empty="There are none." />
        <More label="Older changes" path="/ops/audit" filters={c.req.query()} next={{ before: next }} />
      </>,
    );
  });

/** The path of an object's page in the console; null: it has no page. */
function linkOf(subject: string): string | null {
  const [, kind, id] =
    /^(webhook|template|delivery|import|source|account|statement|customer) ([\d-]+)$/.exec(subject) ?? [];
  switch (kind) {
    case 'webhook':
      return `/ops/webhooks/${id}`;
    case 'template':
      return `/ops/templates/${id}`;
    case 'delivery':
      return `/ops/deliveries/${id}`;
    case 'import':
      return `/ops/imports/${id}`;
    case 'source':
      return `/ops/sources/${id}`;
    case 'account':
      return `/ops/books/accounts/${id}`;
    case 'statement':
      return `/ops/statements/${id}/withdraw`;
    case 'customer':
      return `/ops/customers/${id}`;
    default:
      return null;
  }
}

const columns = (now: Date): Column<AuditEvent>[] => [
  { label: 'When', cell: ({ at }) => <Moment at={at} now={now} /> },
  { label: 'Who', kind: 'wide', cell: ({ actor }) => actor },
  { label: 'Where', cell: ({ source }) => source },
  { label: 'Action', cell: ({ action }) => action },
  {
    label: 'Subject',
    cell: ({ subject }) => {
      const href = linkOf(subject);
      return href === null ? subject : <a href={href}>{subject}</a>;
    },
  },
  {
    label: 'Customer',
    kind: 'wide',
    cell: ({ customer_id, customer }) =>
      customer_id === null ? (
        '–'
      ) : (
        <CustomerLink id={customer_id} name={customer ?? `customer ${customer_id}`} />
      ),
  },
  { label: 'Details', kind: 'wide', cell: ({ detail }) => detail },
];
