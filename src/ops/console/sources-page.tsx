import { Hono } from 'hono';
import * as v from 'valibot';
import type { ApiEnv } from '../../http/environment.ts';
import type { Runtime } from '../../runtime.ts';
import { Id } from '../../validation.ts';
import { type Column, Moment, More, Table, Tag } from './elements.tsx';
import { sendPage } from './layout.tsx';
import { pathWith, readFilters } from './read-filters.ts';
import { listSources, type SourceListRow } from './source-rows.ts';

const PER_PAGE = 50;

const Query = v.object({ after: v.optional(Id) });

/** GET /ops/sources: the sources of all customers, and how their last run went. */
export const sourcesPage = ({ database }: Pick<Runtime, 'database'>): Hono<ApiEnv> =>
  new Hono<ApiEnv>()
    .get('/', async (c) => {
      const { after } = readFilters(c, Query);
      const found = await listSources(database, after ?? '0', PER_PAGE + 1);
      const rows = found.slice(0, PER_PAGE);
      const last = found.length > PER_PAGE ? rows.at(-1)?.id : undefined;
      return sendPage(
        c,
        { title: 'Sources', section: 'Sources' },
        <>
          <h1>Sources</h1>
          <Table caption="Sources" columns={columns(new Date())} rows={rows} empty="There are none." />
          <More
            label="More sources"
            href={last === undefined ? null : pathWith('/ops/sources', { after: last })}
          />
        </>,
      );
    })
    // Jobs on the dashboard lead here.
    .get('/:id', (c) => c.redirect('/ops/sources'));

const columns = (now: Date): Column<SourceListRow>[] => [
  { label: 'Source', kind: 'wide', cell: ({ id, title }) => `${id} ${title}` },
  { label: 'Customer', kind: 'wide', cell: ({ customer }) => customer },
  { label: 'Kind', cell: ({ kind }) => kind },
  { label: 'State', cell: (it) => <SourceState it={it} /> },
  { label: 'Last run', cell: ({ last_run_at }) => <Moment at={last_run_at} now={now} /> },
  { label: 'Next run', cell: ({ next_run_at }) => <Moment at={next_run_at} now={now} /> },
  {
    label: 'Failed runs',
    kind: 'number',
    cell: ({ consecutive_failures }) => consecutive_failures,
  },
  { label: 'Error', kind: 'wide', cell: ({ error }) => error ?? '' },
];

function SourceState({ it }: { it: SourceListRow }) {
  if (it.consecutive_failures > 0) return <Tag tone="bad">failing</Tag>;
  if (it.status === 'paused') return <Tag tone="calm">paused</Tag>;
  return Number(it.is_running) === 1 ? <Tag tone="good">running</Tag> : <Tag tone="good">active</Tag>;
}
