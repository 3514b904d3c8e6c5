import * as v from 'valibot';
import { formatCount } from '../../counts.ts';
import { RunView } from '../../sources/list-runs.ts';
import { SourceView } from '../../sources/view.ts';
import type { ZoneOffset } from '../../zone-offset.ts';
import { type Column, formatTime, renderFacts } from '../table-output.ts';

/** A source as the API shows it. Kinds and fields of a newer service are kept for --json. */
export const Source = v.looseObject({ ...SourceView.entries, kind: v.string() });
export type Source = v.InferOutput<typeof Source>;
export const SourceAnswer = v.object({ source: Source });

/** A run of a source as the API shows it. */
export const SourceRun = v.looseObject(RunView.entries);
export type SourceRun = v.InferOutput<typeof SourceRun>;

const stateOf = ({ status, is_running, consecutive_failures }: Source): string => {
  if (is_running) return `${status}, running`;
  return consecutive_failures > 0 ? `${status}, failing` : status;
};

const describeSchedule = ({ schedule }: Source): string =>
  'cron' in schedule ? `${schedule.cron} in ${schedule.time_zone}` : `every ${schedule.every}`;

export const sourceColumns = (zone: ZoneOffset): readonly Column<Source>[] => [
  ['id', ({ id }) => id, 'right'],
  ['title', ({ title }) => title],
  ['kind', ({ kind }) => kind],
  ['schedule', describeSchedule],
  ['status', stateOf],
  ['next run', ({ next_run_at }) => formatTime(next_run_at, zone)],
  ['error', ({ error }) => error],
];

export const runColumns = (zone: ZoneOffset): readonly Column<SourceRun>[] => [
  ['id', ({ id }) => id, 'right'],
  ['status', ({ status }) => status],
  ['started', ({ started_at }) => formatTime(started_at, zone)],
  ['finished', ({ finished_at }) => formatTime(finished_at, zone)],
  ['files', ({ files }) => formatCount(files), 'right'],
  ['imports', ({ imports }) => imports.map(({ id }) => id).join(', ')],
  ['error', ({ error }) => error],
];

export const describeSource = (it: Source, zone: ZoneOffset): string =>
  renderFacts([
    ['source', it.id],
    ['title', it.title],
    ['kind', it.kind],
    ...Object.entries(it.settings).map(([name, value]) => [name, showSetting(value)] as const),
    ['credentials', it.credentials.join(', ')],
    ['schedule', describeSchedule(it)],
    ['account', it.account_id],
    ['format', it.format],
    ['profile', it.profile],
    ['new accounts', it.create_accounts ? 'are created' : 'are rejected'],
    ['status', stateOf(it)],
    ['last run', formatTime(it.last_run_at, zone)],
    ['next run', formatTime(it.next_run_at, zone)],
    ['failures', formatCount(it.consecutive_failures)],
    ['error', it.error],
    ['created', formatTime(it.created_at, zone)],
  ]);

const showSetting = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
