import type { RunRow } from '../../sources/find-source.ts';
import { RUN_STATUSES, type SourceSummary } from '../../sources/find-source.ts';
import type { SourceView } from '../../sources/source-view.ts';
import {
  Choice,
  type Column,
  Facts,
  Field,
  formatCount,
  formatDuration,
  Moment,
  More,
  Notice,
  Table,
  Tag,
  timesInARow,
} from '../page/elements.tsx';
import type { Confirmation } from '../page/error-page.tsx';
import { pathWith } from '../page/read-filters.ts';
import type { WrongFile } from '../totals.ts';
import { describeSchedule, SourceState } from './source-columns.tsx';

/** The most imports that are named for each run. */
const NAMED_IMPORTS = 5;

interface RunImports extends RunRow {
  imports: readonly { id: number; file: string }[];
}

interface SourcePageProps {
  source: SourceSummary;
  /** null for a deleted source. */
  settings: SourceView | null;
  failingSince: Date | null;
  runs: readonly RunImports[];
  /** The path of the older runs; null: there are none. */
  older: string | null;
  /** The filter of the runs, as it was typed. */
  filters: Record<string, string | undefined>;
  wrongFiles: readonly WrongFile[];
  /** The path of the source's job on the dashboard of the queues. null: it has no job now. */
  job: string | null;
  done: string | undefined;
  now: Date;
}

/** The page of one source: its problems, the possible actions, and its runs. */
export const SourcePage = (props: SourcePageProps) => {
  const { source, failingSince, runs, older, filters, wrongFiles, done, now } = props;
  return (
    <>
      {done === undefined || SOURCE_DONE[done] === undefined ? null : (
        <Notice tone="good">{SOURCE_DONE[done]}</Notice>
      )}
      <p class="crumbs">
        <a href="/ops/sources">Sources</a> ›{' '}
        <a href={`/ops/sources?customer=${source.customer_id}`}>{source.customer}</a>
      </p>
      <h1>
        Source {source.id} “{source.title}” <SourceState source={source} />
      </h1>
      <p class="lead">{explain(source, failingSince, now)}</p>
      <nav class="actions" aria-label="What you can do">
        {sourceActionsFor(source).map((action, index) => (
          <a
            class={index === 0 && source.error !== null ? 'button primary' : 'button'}
            href={`/ops/sources/${source.id}/${action}`}
          >
            {SOURCE_LABELS[action]}
          </a>
        ))}
        <a class="button" href={pathWith('/ops/audit', { subject: `source ${source.id}` })}>
          Changes
        </a>
      </nav>
      <SourceFacts {...props} />
      <h2>Files that could not be imported, or not all of them</h2>
      <Table caption="Wrong files" columns={fileColumns(now)} rows={wrongFiles} empty="None." />
      <h2 id="runs">Runs</h2>
      <RunFilters filters={filters} />
      <Table caption="Runs" columns={runColumns(now)} rows={runs} empty="There are none." />
      <More label="Older runs" href={older} />
    </>
  );
};

function SourceFacts({ source, settings, failingSince, job, now }: SourcePageProps) {
  return (
    <Facts
      facts={[
        ['Last run', <Moment at={source.last_run_at} now={now} />],
        ['Next run', <Moment at={source.next_run_at} now={now} />],
        ['Failed in a row', formatCount(source.consecutive_failures)],
        ['Failing since', <Moment at={source.consecutive_failures > 0 ? failingSince : null} now={now} />],
        ['Kind', source.kind],
        ...(settings === null ? [] : settingFacts(settings, now)),
        ['Job', job === null ? 'none' : <a href={job}>in the queue</a>],
      ]}
    />
  );
}

const settingFacts = (it: SourceView, now: Date) =>
  [
    ...Object.entries(it.settings).map(([name, value]) => [name, <code>{showSetting(value)}</code>] as const),
    ['Credentials', it.credentials.join(', ') || 'none'],
    ['Schedule', describeSchedule(it.schedule)],
    ['Account', it.account_id === null ? 'named in each statement' : String(it.account_id)],
    ['Format', it.profile === null ? it.format : `${it.format}, profile ${it.profile}`],
    ['Statements of other accounts', it.force_account ? 'are stored for its account' : 'are rejected'],
    ['Accounts that do not exist', it.create_accounts ? 'are created' : 'are rejected'],
    ['Created', <Moment at={new Date(it.created_at)} now={now} />],
  ] as const;

const showSetting = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const RunFilters = ({ filters: { status, since, until } }: { filters: SourcePageProps['filters'] }) => (
  <form class="filters">
    <Choice
      label="Status"
      name="status"
      value={status}
      choices={[['', 'all'], ...RUN_STATUSES.map((it) => [it, it] as const)]}
    />
    <Field label="Begun since" name="since" value={since} hint="2026-01-31 12:00:00" />
    <Field label="Begun until" name="until" value={until} hint="2026-01-31 13:00:00" />
    <button type="submit">Show</button>
  </form>
);

const ImportLink = ({ id }: { id: number | string }) => (
  <a class="id" href={`/ops/imports/${id}`}>
    {id}
  </a>
);

const fileColumns = (now: Date): Column<WrongFile>[] => [
  { label: 'File', kind: 'wide', cell: ({ name }) => name },
  {
    label: 'Import',
    cell: ({ import_id }) => (import_id === null ? 'refused' : <ImportLink id={import_id} />),
  },
  { label: 'Run', kind: 'number', cell: ({ run_id }) => run_id },
  { label: 'Collected', cell: ({ created_at }) => <Moment at={created_at} now={now} /> },
];

const RUN_TONES = { running: 'warn', done: 'good', failed: 'bad' } as const;

const runColumns = (now: Date): Column<RunImports>[] => [
  { label: 'Run', kind: 'number', cell: ({ id }) => id },
  { label: 'Status', cell: ({ status }) => <Tag tone={RUN_TONES[status]}>{status}</Tag> },
  { label: 'Began', cell: ({ started_at }) => <Moment at={started_at} now={now} /> },
  {
    label: 'Took',
    kind: 'number',
    cell: ({ started_at, finished_at }) =>
      finished_at === null ? '–' : formatDuration(finished_at.getTime() - started_at.getTime()),
  },
  { label: 'Files', kind: 'number', cell: ({ files }) => formatCount(files) },
  {
    label: 'Imports',
    kind: 'wide',
    cell: ({ imports }) => (
      <>
        {imports.slice(0, NAMED_IMPORTS).map(({ id, file }) => (
          <div>
            <ImportLink id={id} /> {file}
          </div>
        ))}
        {imports.length > NAMED_IMPORTS ? <div>and {imports.length - NAMED_IMPORTS} more</div> : null}
      </>
    ),
  },
  { label: 'Error', kind: 'wide', cell: ({ error }) => error ?? '' },
];

/** Explains a source's state, and what happens next. */
function explain(it: SourceSummary, failingSince: Date | null, now: Date): string {
  const error = it.error === null ? '' : ` The last error: ${it.error}`;
  switch (it.status) {
    case 'deleted':
      return 'It was deleted. Nothing is collected from it. Its imports and movements stay.';
    case 'paused':
      return `It is paused: nothing is collected until it is enabled.${error}`;
    case 'active': {
      const next =
        it.next_run_at === null || it.next_run_at <= now
          ? 'It runs again in a moment.'
          : `It runs again in ${formatDuration(it.next_run_at.getTime() - now.getTime())}.`;
      if (it.consecutive_failures > 0) {
        const since =
          failingSince === null ? '' : `, for ${formatDuration(now.getTime() - failingSince.getTime())}`;
        return `It has failed ${timesInARow(it.consecutive_failures)}${since}.${error} ${next} Files that are not collected yet stay where they are.`;
      }
      return it.error === null
        ? `${it.last_run_at === null ? 'It has not run yet.' : 'Nothing is wrong.'} ${next}`
        : `It can be reached, but a file could not be imported, or not all of it. The others were.${error} ${next}`;
    }
  }
}

/** The actions for a source in the console. */
export const SOURCE_ACTIONS = ['run', 'pause', 'enable'] as const;
export type SourceAction = (typeof SOURCE_ACTIONS)[number];

/** The label of each button. */
const SOURCE_LABELS: Readonly<Record<SourceAction, string>> = {
  run: 'Run now',
  pause: 'Pause',
  enable: 'Enable',
};

/** The actions that make sense in a source's state, the most likely first. */
function sourceActionsFor({ status }: SourceSummary): SourceAction[] {
  switch (status) {
    case 'deleted':
      return [];
    case 'paused':
      return ['enable', 'run'];
    case 'active':
      return ['run', 'pause'];
  }
}

/** Asks for confirmation of an action, and explains its effect. */
export function confirmSourceAction(action: SourceAction, it: SourceSummary): Omit<Confirmation, 'back'> {
  const name = `source ${it.id} “${it.title}” of ${it.customer}`;
  switch (action) {
    case 'run':
      return {
        question: `Run ${name} now?`,
        consequences: [
          'It runs immediately, whatever its schedule, and its new files are imported.',
          'If a run is in progress, another one follows it. No file is imported twice.',
          ...(it.status === 'paused' ? ['It stays paused: nothing runs after this.'] : []),
        ],
        button: 'Run the source',
      };
    case 'pause':
      return {
        question: `Pause ${name}?`,
        consequences: [
          'Nothing is collected from it until it is enabled. A run in progress ends.',
          'Files stay where they are. What was collected before is still imported.',
        ],
        button: 'Pause the source',
        dangerous: true,
      };
    case 'enable':
      return {
        question: `Enable ${name}?`,
        consequences: [
          'It runs by its schedule again. With an interval, it runs immediately.',
          'Its count of failed runs begins at 0.',
        ],
        button: 'Enable the source',
      };
  }
}

/** The messages on the source's page after an action. */
const SOURCE_DONE: Readonly<Record<string, string>> = {
  run: 'A run was asked for. Reload this page to see how it ends.',
  pause: 'The source is paused. Nothing more is collected.',
  enable: 'The source is enabled.',
};
