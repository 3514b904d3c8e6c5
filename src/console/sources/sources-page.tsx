import { Hono } from 'hono';
import * as v from 'valibot';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { Id } from '../../platform/whole-numbers.ts';
import { listSources, type SourceSummary } from '../../sources/find-source.ts';
import type { SourceSchedule } from '../../sources/source-schedule.ts';
import { nameSourceTroubles } from '../../verdict/work.ts';
import {
  Choice,
  type Column,
  customerColumn,
  Field,
  FilterForm,
  formatCount,
  Moment,
  More,
  readFilters,
  SourceLink,
  Table,
  Tag,
  Troubles,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { callerFor } from '../page/operator.ts';

/** How the console describes sources in tables. */

/** `every 15m`, or `0 7 * * 1-5 in Europe/Istanbul`. */
export const describeSchedule = (schedule: SourceSchedule): string =>
  'cron' in schedule ? `${schedule.cron} in ${schedule.time_zone}` : `every ${schedule.every}`;

/** The state of a source in one or two words, with its colour. */
export function SourceState({ source: it }: { source: SourceSummary }) {
  const running = it.run_id !== null ? ', running' : '';
  if (it.status === 'deleted') return <Tag tone="calm">deleted</Tag>;
  if (it.status === 'paused') return <Tag tone="calm">paused{running}</Tag>;
  if (it.consecutive_failures > 0) return <Tag tone="bad">failing{running}</Tag>;
  return it.error === null ? (
    <Tag tone="good">active{running}</Tag>
  ) : (
    <Tag tone="warn">wrong file{running}</Tag>
  );
}

/** The columns of every table of sources. */
export const sourceColumns = (now: Date): Column<SourceSummary>[] => [
  { label: 'Source', kind: 'wide', cell: ({ id, title }) => <SourceLink id={id} title={title} /> },
  customerColumn(),
  { label: 'Kind', cell: ({ kind }) => kind },
  { label: 'State', cell: (it) => <SourceState source={it} /> },
  { label: 'Last run', cell: ({ last_run_at }) => <Moment at={last_run_at} now={now} /> },
  { label: 'Next run', cell: ({ next_run_at }) => <Moment at={next_run_at} now={now} /> },
  {
    label: 'Failed in a row',
    kind: 'number',
    cell: ({ consecutive_failures }) => formatCount(consecutive_failures),
  },
  { label: 'Error', kind: 'wide', cell: ({ error }) => error ?? '' },
];

const PER_PAGE = 50;

const Query = v.object({
  id: v.optional(Id),
  customer: v.optional(Id),
  account: v.optional(Id),
  status: v.optional(v.picklist(['active', 'paused'])),
  after: v.optional(Id),
});

/** GET /ops/sources: first the sources in trouble, then all sources. */
export const sourcesPage = (runtime: Runtime): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/', async (c) => {
    const { database } = runtime;
    const { id, customer, account, status, after } = readFilters(c, Query);
    if (id !== undefined) return c.redirect(`/ops/sources/${id}`);
    const filters = {
      viewer: customer === undefined ? null : callerFor(c, runtime, customer),
      status,
      accountId: account,
      after: after ?? '0',
    };
    const isFirst = [customer, account, status, after].every((it) => it === undefined);
    const [trouble, { rows, next }] = await Promise.all([
      isFirst ? nameSourceTroubles(database, PER_PAGE) : [],
      listSources(database, filters, PER_PAGE),
    ]);
    const now = new Date();
    return sendPage(
      c,
      { title: 'Sources', section: 'Sources' },
      <>
        <h1>Sources</h1>
        <FilterForm>
          <Field label="Source id" name="id" value="" />
          <Field label="Customer id" name="customer" value={customer} />
          <Field label="Account id" name="account" value={account} />
          <Choice label="Status" name="status" value={status} choices={[['', 'all'], 'active', 'paused']} />
        </FilterForm>
        {isFirst ? (
          <section>
            <h2>In trouble</h2>
            <Troubles
              troubles={trouble}
              now={now}
              empty="None: the last run of every source was done, and all of its files were imported."
            />
          </section>
        ) : null}
        <section>
          <h2>{isFirst ? 'All' : 'Found'}</h2>
          <Table
            caption="Sources"
            columns={sourceColumns(now)}
            rows={rows}
            empty={next === null ? 'There are none.' : 'None among these. There may be newer ones.'}
          />
          <More label="More sources" path="/ops/sources" filters={c.req.query()} next={{ after: next }} />
        </section>
      </>,
    );
  });
