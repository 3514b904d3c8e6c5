import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { Moment as MomentText } from '../../platform/moment.ts';
import { cutPage } from '../../platform/page.ts';
import { Id } from '../../platform/whole-numbers.ts';
import {
  findRunImports,
  findSource,
  listRuns,
  RUN_STATUSES,
  type RunRow,
  type SourceRow,
  type SourceSummary,
} from '../../sources/find-source.ts';
import { findSourceJob } from '../../sources/source-jobs.ts';
import { type SourceView, viewSource } from '../../sources/source-view.ts';
import type { Trouble } from '../../verdict/trouble.ts';
import { endSentence } from '../../verdict/webhooks.ts';
import { sourceTroubleOf } from '../../verdict/work.ts';
import {
  Choice,
  type Column,
  CustomerLink,
  Done,
  Facts,
  FilterForm,
  formatCount,
  formatDuration,
  ImportLink,
  LinkButton,
  Moment,
  More,
  PeriodFields,
  pathWith,
  readFilters,
  Table,
  Tag,
} from '../page/elements.tsx';
import { type Confirmation, sendConfirmation, sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor } from '../page/operator.ts';
import { DASHBOARD_PATH } from '../queues/dashboard.ts';
import { describeSchedule, SourceState } from './sources-page.tsx';

/** The page of one source in the console: its settings, runs and wrong files. */

interface WrongFile {
  name: string;
  run_id: string;
  /** null: the file was refused without an import. */
  import_id: string | null;
  created_at: Date;
}

/** Index: source_files_outcome. */
const READ_WRONG_FILES = `
  SELECT name, run_id, import_id, created_at FROM source_files FORCE INDEX (source_files_outcome)
  WHERE outcome = 'failed' AND source_id = ? ORDER BY id DESC LIMIT ?`;

/** The newest files of a source that could not be imported completely. */
export const readWrongFiles = (sql: Sql, sourceId: string, most: number): Promise<WrongFile[]> =>
  sql.query(READ_WRONG_FILES, [sourceId, most]);

/** The most imports that are named for each run. */
const NAMED_IMPORTS = 5;

interface RunImports extends RunRow {
  imports: readonly { id: number; file: string }[];
}

interface SourcePageProps {
  source: SourceSummary;
  /** null for a deleted source. */
  settings: SourceView | null;
  /** null: it has none. */
  trouble: Trouble | null;
  runs: readonly RunImports[];
  /** The older runs are those before this id. null: there are none. */
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
  const { source, trouble, runs, older, filters, wrongFiles, done, now } = props;
  return (
    <>
      <Done done={done} messages={SOURCE_DONE} />
      <p class="crumbs">
        <a href="/ops/sources">Sources</a> › <CustomerLink id={source.customer_id} name={source.customer} />
      </p>
      <h1>
        Source {source.id} “{source.title}” <SourceState source={source} />
      </h1>
      <p class="lead">{explain(source, trouble, now)}</p>
      <nav class="actions" aria-label="What you can do">
        {sourceActionsFor(source).map((action, index) => (
          <LinkButton
            primary={index === 0 && source.error !== null}
            href={`/ops/sources/${source.id}/${action}`}
            text={SOURCE_LABELS[action]}
          />
        ))}
        <LinkButton href={pathWith('/ops/audit', { subject: `source ${source.id}` })} text="Changes" />
      </nav>
      <SourceFacts {...props} />
      <h2>Files that could not be imported, or not all of them</h2>
      <Table caption="Wrong files" columns={fileColumns(now)} rows={wrongFiles} empty="None." />
      <h2 id="runs">Runs</h2>
      <FilterForm>
        <Choice
          label="Status"
          name="status"
          value={filters.status}
          choices={[['', 'all'], ...RUN_STATUSES]}
        />
        <PeriodFields since="Begun since" until="Begun until" filters={filters} />
      </FilterForm>
      <Table caption="Runs" columns={runColumns(now)} rows={runs} empty="There are none." />
      <More
        label="Older runs"
        path={`/ops/sources/${source.id}`}
        filters={{ ...filters, done: undefined }}
        next={{ before: older }}
      />
    </>
  );
};

function SourceFacts({ source, settings, trouble, job, now }: SourcePageProps) {
  return (
    <Facts
      facts={[
        ['Last run', <Moment at={source.last_run_at} now={now} />],
        ['Next run', <Moment at={source.next_run_at} now={now} />],
        ['Failed in a row', formatCount(source.consecutive_failures)],
        [
          'Failing since',
          <Moment at={source.consecutive_failures > 0 ? (trouble?.since ?? null) : null} now={now} />,
        ],
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
    ['Format of the files', it.profile === null ? it.format : `${it.format}, profile ${it.profile}`],
    ['Statements of other accounts', it.force_account ? 'are stored for its account' : 'are rejected'],
    ['Accounts that do not exist', it.create_accounts ? 'are created' : 'are rejected'],
    [
      'Files count as complete',
      it.settle_seconds === null ? 'when they are listed' : `${it.settle_seconds} s after their last change`,
    ],
    ['Created', <Moment at={new Date(it.created_at)} now={now} />],
  ] as const;

const showSetting = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

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
function explain(it: SourceSummary, trouble: Trouble | null, now: Date): string {
  switch (it.status) {
    case 'deleted':
      return 'It was deleted. Nothing is collected from it. Its imports and movements stay.';
    case 'paused':
      return `It is paused: nothing is collected until it is enabled.${it.error === null ? '' : ` The last error: ${it.error}`}`;
    case 'active': {
      const next =
        it.next_run_at === null || it.next_run_at <= now
          ? 'It runs again in a moment.'
          : `It runs again in ${formatDuration(it.next_run_at.getTime() - now.getTime())}${it.consecutive_failures > 0 ? ': after each failure it waits longer than its schedule says, up to 6 h' : ''}.`;
      const state =
        trouble === null
          ? it.last_run_at === null
            ? 'It has not run yet.'
            : 'Nothing is wrong.'
          : `${endSentence(trouble.sentence)} ${trouble.help}`;
      return `${state} ${next}`;
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
  'collect-again': 'The next run collects the file again. Reload this page to see how it ends.',
  pause: 'The source is paused. Nothing more is collected.',
  enable: 'The source is enabled.',
};

const RUNS = 50;
const WRONG_FILES = 20;

/** /ops/sources/:id and its actions. Each change has its own confirmation page, which sends a POST. */
export const sourceRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database } = context.runtime;
  const routes = new Hono<ApiEnv>().get('/:id', (c) => showSource(c, context));
  for (const action of SOURCE_ACTIONS) {
    routes.get(`/:id/${action}`, async (c) => {
      const source = await requireSource(database, c);
      return sendConfirmation(c, 'Sources', {
        ...confirmSourceAction(action, source),
        back: `/ops/sources/${source.id}`,
      });
    });
    routes.post(`/:id/${action}`, async (c) => {
      const { id, customer_id: customerId } = await requireSource(database, c);
      await callApiFor(c, context, customerId, requestOf(action, id));
      return c.redirect(`/ops/sources/${id}?done=${action}`, 303);
    });
  }
  return routes;
};

const requireSource = (sql: Sql, c: Context<ApiEnv>): Promise<SourceRow> =>
  findSource(sql, null, readId(c, 'source'));

/** The request to the API that carries out an action. */
function requestOf(action: SourceAction, id: string): { method: string; path: string; body?: object } {
  const path = `/v1/sources/${id}`;
  switch (action) {
    case 'run':
      return { method: 'POST', path: `${path}/run` };
    case 'pause':
      return { method: 'PATCH', path, body: { status: 'paused' } };
    case 'enable':
      return { method: 'PATCH', path, body: { status: 'active' } };
  }
}

async function showSource(c: Context<ApiEnv>, { runtime }: ConsoleContext) {
  const { config, database, queues } = runtime;
  const moment = v.optional(MomentText(config.zone));
  const Query = v.object({
    status: v.optional(v.picklist(RUN_STATUSES)),
    since: moment,
    until: moment,
    before: v.optional(Id),
  });
  const { status, since, until, before } = readFilters(c, Query);
  const source = await requireSource(database, c);
  const { id } = source;
  const [found, trouble, wrongFiles, job] = await Promise.all([
    listRuns(database, id, { status, since, until, before: before ?? BEYOND_NEWEST }, RUNS + 1),
    source.status === 'active' && source.error !== null ? sourceTroubleOf(database, source) : null,
    readWrongFiles(database, id, WRONG_FILES),
    findSourceJob(queues, id),
  ]);
  const { rows: runs, next } = cutPage(found, RUNS);
  const imports = await findRunImports(
    database,
    runs.map((run) => run.id),
  );
  const query = c.req.query();
  return sendPage(
    c,
    { title: `Source ${id}`, section: 'Sources' },
    <SourcePage
      source={source}
      settings={source.status === 'deleted' ? null : viewSource(runtime, source)}
      trouble={trouble}
      runs={runs.map((run) => ({ ...run, imports: imports.get(run.id) ?? [] }))}
      older={next}
      filters={query}
      wrongFiles={wrongFiles}
      job={job === null ? null : `${DASHBOARD_PATH}/queue/sources/${encodeURIComponent(job)}`}
      done={query.done}
      now={new Date()}
    />,
  );
}
