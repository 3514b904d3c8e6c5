import type { SourceSummary } from '../../sources/find-source.ts';
import type { SourceSchedule } from '../../sources/source-schedule.ts';
import { type Column, formatCount, Moment, Table, Tag } from '../page/elements.tsx';

/** How the console describes sources in tables. */

const SourceLink = ({ id, title }: { id: string; title: string }) => (
  <a href={`/ops/sources/${id}`}>
    <span class="id">{id}</span> {title}
  </a>
);

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
  {
    label: 'Customer',
    kind: 'wide',
    cell: ({ customer_id, customer }) => <a href={`/ops/sources?customer=${customer_id}`}>{customer}</a>,
  },
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

export const SourcesInTrouble = ({ rows, now }: { rows: readonly SourceSummary[]; now: Date }) => (
  <Table
    caption="Sources in trouble"
    columns={sourceColumns(now)}
    rows={rows}
    empty="None: the last run of every source was done, and all of its files were imported."
  />
);
