import { Hono } from 'hono';
import * as v from 'valibot';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import {
  firstImportAt,
  IMPORT_STATUSES,
  type ImportRow,
  type ImportStatus,
  listImports,
} from '../../intake/imports.ts';
import { Moment as MomentText } from '../../platform/moment.ts';
import { Id } from '../../platform/validation.ts';
import { Choice, type Column, Field, formatCount, Moment, More, Table, Tag } from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { callerFor } from '../page/operator.ts';
import { pathWith, readFilters } from '../page/read-filters.ts';

const PER_PAGE = 50;

/** GET /ops/imports: the imports of all customers, newest first. */
export const importsPage = (runtime: Runtime): Hono<ApiEnv> => {
  const { database, config } = runtime;
  const moment = v.optional(MomentText(config.zone));
  const Query = v.object({
    id: v.optional(Id),
    customer: v.optional(Id),
    account: v.optional(Id),
    status: v.optional(v.picklist(IMPORT_STATUSES)),
    since: moment,
    until: moment,
    before: v.optional(Id),
  });
  return new Hono<ApiEnv>().get('/', async (c) => {
    const { id, customer, account, status, since, until, before } = readFilters(c, Query);
    if (id !== undefined) return c.redirect(`/ops/imports/${id}`);
    const end = until === undefined ? BEYOND_NEWEST : await firstImportAt(database, until);
    const { rows, next } = await listImports(
      database,
      {
        viewer: customer === undefined ? null : callerFor(c, runtime, customer),
        status,
        accountId: account,
        before: before !== undefined && BigInt(before) < BigInt(end) ? before : end,
        from: since === undefined ? '1' : await firstImportAt(database, since),
      },
      PER_PAGE,
    );
    const query = c.req.query();
    return sendPage(
      c,
      { title: 'Imports', section: 'Imports' },
      <>
        <h1>Imports</h1>
        <form class="filters">
          <Field label="Import id" name="id" value="" />
          <Field label="Customer id" name="customer" value={customer} />
          <Field label="Account id" name="account" value={account} />
          <Choice
            label="Status"
            name="status"
            value={status}
            choices={[['', 'all'], ...IMPORT_STATUSES.map((it) => [it, it] as const)]}
          />
          <Field label="Received since" name="since" value={query.since} hint="2026-01-31 12:00:00" />
          <Field label="Received before" name="until" value={query.until} hint="2026-01-31 13:00:00" />
          <button type="submit">Show</button>
        </form>
        <Table
          caption="Imports"
          columns={columns(new Date())}
          rows={rows}
          empty={next === null ? 'There are none.' : 'None among the newest. There may be older ones.'}
        />
        <More
          label="Older imports"
          href={next === null ? null : pathWith('/ops/imports', { ...query, before: next })}
        />
      </>,
    );
  });
};

const TONES = { queued: 'warn', running: 'warn', done: 'good', failed: 'bad' } as const;

export const ImportStatusTag = ({ status }: { status: ImportStatus }) => (
  <Tag tone={TONES[status]}>{status}</Tag>
);

const columns = (now: Date): Column<ImportRow>[] => [
  {
    label: 'Import',
    cell: ({ id }) => (
      <a class="id" href={`/ops/imports/${id}`}>
        {id}
      </a>
    ),
  },
  { label: 'Status', cell: ({ status }) => <ImportStatusTag status={status} /> },
  {
    label: 'Customer',
    kind: 'wide',
    cell: ({ customer_id, customer }) => <a href={`/ops/imports?customer=${customer_id}`}>{customer}</a>,
  },
  { label: 'Format', cell: ({ detected_format, format }) => detected_format ?? format },
  { label: 'Received', cell: ({ received_at }) => <Moment at={received_at} now={now} /> },
  {
    label: 'Rows',
    kind: 'number',
    cell: ({ received }) => (received === null ? '–' : formatCount(received)),
  },
  { label: 'New', kind: 'number', cell: ({ inserted }) => formatCount(inserted) },
  { label: 'Known', kind: 'number', cell: ({ duplicates }) => formatCount(duplicates) },
  { label: 'Rejected', kind: 'number', cell: ({ rejected }) => formatCount(rejected) },
  { label: 'Deliveries', kind: 'number', cell: ({ deliveries }) => formatCount(deliveries) },
  { label: 'Error', kind: 'wide', cell: ({ error }) => error ?? '' },
];
