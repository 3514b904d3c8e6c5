import { Hono } from 'hono';
import * as v from 'valibot';
import { BEYOND_NEWEST } from '../../http/cursor.ts';
import type { ApiEnv } from '../../http/environment.ts';
import type { Runtime } from '../../runtime.ts';
import { Id } from '../../validation.ts';
import { AUDIT_SOURCES, type AuditEvent, readAudit } from './audit-rows.ts';
import { Choice, type Column, Field, Moment, More, Table } from './elements.tsx';
import { sendPage } from './layout.tsx';
import { pathWith, readFilters } from './read-filters.ts';

const PER_PAGE = 100;

const Query = v.object({
  subject: v.optional(v.string()),
  customer: v.optional(Id),
  source: v.optional(v.picklist(AUDIT_SOURCES)),
  before: v.optional(Id),
});

/** GET /ops/audit: who has changed what, the newest first. */
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
    const rows = found.slice(0, PER_PAGE);
    const next = found.length > PER_PAGE ? rows.at(-1)?.id : undefined;
    return sendPage(
      c,
      { title: 'Audit', section: 'Audit' },
      <>
        <h1>Audit</h1>
        <p class="calm">
          Every change by an API key, in the console, by the command line, or by a change of OPS_WEBHOOK_URL.
          Imports are listed on their own page.
        </p>
        <form class="filters">
          <Field label="What was changed" name="subject" value={subject} hint="webhook 12" />
          <Field label="Customer id" name="customer" value={customer} />
          <Choice
            label="Where"
            name="source"
            value={source}
            choices={[['', 'everywhere'], ...AUDIT_SOURCES.map((it) => [it, it] as const)]}
          />
          <button type="submit">Show</button>
        </form>
        <Table caption="Changes" columns={columns(new Date())} rows={rows} empty="There are none." />
        <More
          label="Older changes"
          href={next === undefined ? null : pathWith('/ops/audit', { ...c.req.query(), before: next })}
        />
      </>,
    );
  });

/** What has a page of its own in the console. */
function linkOf(subject: string): string | null {
  const [, kind, id] = /^(webhook|delivery|import|source) ([\d-]+)$/.exec(subject) ?? [];
  switch (kind) {
    case 'webhook':
      return `/ops/webhooks/${id}`;
    case 'delivery':
      return `/ops/deliveries/${id}`;
    case 'import':
      return `/ops/imports/${id}`;
    case 'source':
      return `/ops/sources/${id}`;
    default:
      return null;
  }
}

const columns = (now: Date): Column<AuditEvent>[] => [
  { label: 'When', cell: ({ at }) => <Moment at={at} now={now} /> },
  { label: 'Who', kind: 'wide', cell: ({ actor }) => actor },
  { label: 'Where', cell: ({ source }) => source },
  { label: 'Did', cell: ({ action }) => action },
  {
    label: 'To',
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
        <a href={`/ops/audit?customer=${customer_id}`}>{customer ?? `customer ${customer_id}`}</a>
      ),
  },
  { label: 'How', kind: 'wide', cell: ({ detail }) => detail },
];
