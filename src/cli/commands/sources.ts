import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import * as v from 'valibot';
import type { ZoneOffset } from '../../platform/moment.ts';
import { countOf, formatCount } from '../../platform/text.ts';
import { KIND_NAMES, RunView, SourceView } from '../../sources/source-view.ts';
import type { Api } from '../api-client.ts';
import {
  addListOptions,
  type CreateCommand,
  Deleted,
  fieldsOf,
  type ListOptions,
  listCommand,
  printAnswer,
  printList,
  subjectCommand,
} from '../api-command.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import { type CommandContext, Failure, NegativeAnswer, oneLine } from '../context.ts';
import { type Column, formatTime, renderFacts } from '../output.ts';
import { parseCount, parseId } from '../values.ts';

/** The commands for sources. */

/** A source as the API shows it. Kinds and fields of a newer service are kept for --json. */
export const Source = v.looseObject({ ...SourceView.entries, kind: v.string() });
export type Source = v.InferOutput<typeof Source>;
export const SourceAnswer = v.object({ source: Source });

/** A run of a source as the API shows it. */
const SourceRun = v.looseObject(RunView.entries);
type SourceRun = v.InferOutput<typeof SourceRun>;

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

const describeSource = (it: Source, zone: ZoneOffset): string =>
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
    ['encoding', it.encoding],
    ['other accounts', it.force_account ? 'are stored for its account' : 'are rejected'],
    ['settle seconds', it.settle_seconds],
    ['new accounts', it.create_accounts ? 'are created' : 'are rejected'],
    ['status', stateOf(it)],
    ['last run', formatTime(it.last_run_at, zone)],
    ['next run', formatTime(it.next_run_at, zone)],
    ['failures', formatCount(it.consecutive_failures)],
    ['error', it.error],
    ['created', formatTime(it.created_at, zone)],
  ]);

const showSetting = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

interface CreateOptions extends AccessOptions {
  path?: string;
  settings?: string;
  credentialsFile?: string;
  every?: string;
  cron?: string;
  timeZone?: string;
  account?: string;
}

/** `ledgerbell sources create` */
const createSourceCommand = (context: CommandContext) =>
  addAccessOptions(new Command('create').description('collect statement files from a place, on a schedule'))
    .requiredOption('--title <title>', 'what the source is called')
    .addOption(new Option('--kind <kind>', 'of place').choices([...KIND_NAMES]).makeOptionMandatory())
    .option('--path <folder>', 'the folder, for the kind folder')
    .option('--settings <json>', 'where the files are: a JSON object, whose members depend on the kind')
    .option('--credentials-file <file>', 'a file with the credentials: a JSON object, as the kind needs it')
    .option('--every <interval>', 'how often it runs, such as 15m (default: every 15 minutes)')
    .addOption(new Option('--cron <fields>', 'when it runs, such as "0 7 * * 1-5"').conflicts('every'))
    .addOption(new Option('--time-zone <name>', 'of --cron, such as Europe/Istanbul').conflicts('every'))
    .option('--account <id>', 'that all files are about (default: the statements say which)', parseId)
    .option('--format <format>', 'of the files (default: auto)')
    .option('--profile <name>', 'of CSV and XLSX files')
    .option(
      '--encoding <name>',
      'of text that is not UTF-8, such as windows-1250 (default: the letters decide)',
    )
    .option(
      '--settle-seconds <seconds>',
      'leave files alone that were changed within this time (default: 5)',
      parseCount,
    )
    .option('--create-accounts', 'create accounts that the customer does not have')
    .option('--force-account', 'store statements that name another account for --account all the same')
    .action(async (options: CreateOptions) => {
      const { path, settings, credentialsFile, every, cron, timeZone, account, ...others } = options;
      const body = {
        ...fieldsOf(others),
        settings: readSettings({ path, settings }),
        credentials: await readCredentials(credentialsFile),
        schedule:
          every === undefined && cron === undefined ? { every: '15m' } : { every, cron, time_zone: timeZone },
        account_id: account,
      };
      await printAnswer(
        context,
        options,
        {},
        {
          request: (api) => api.post('/v1/sources', body, SourceAnswer),
          text: ({ source }, zone) => describeSource(source, zone),
        },
      );
    });

function readSettings({ path, settings }: Record<'path' | 'settings', string | undefined>): object {
  const given = settings === undefined ? {} : parseObject('--settings', settings, '{"path":"inbox"}');
  return path === undefined ? given : { ...given, path };
}

/** Reads credentials from a file, because other users of the machine can see the command line. */
async function readCredentials(path: string | undefined): Promise<object | undefined> {
  if (path === undefined) return undefined;
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`--credentials-file ${path} cannot be read (${error.code}).`);
  });
  return parseObject('--credentials-file', text, '{"password":"…"}');
}

function parseObject(option: string, text: string, example: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Explained below. The text is not repeated, because it may be secret.
  }
  throw new Failure(`${option} must be a JSON object, such as ${example}.`);
}

const POLL_INTERVAL = 300;

/** How many runs are searched for the requested run. Not more have begun since the request. */
const LOOKED_AT = 20;

const Requested = v.looseObject({ ...SourceAnswer.entries, previous_run_id: v.nullable(v.number()) });
const Runs = v.object({ runs: v.array(SourceRun) });

interface RunOptions extends AccessOptions {
  wait?: boolean;
}

/** A command that has a source run. @param request what is sent, with the options of the command. */
const runCommand = <O extends RunOptions>(
  context: CommandContext,
  command: Command,
  request: (api: Api, id: string, options: O) => Promise<v.InferOutput<typeof Requested>>,
) =>
  addAccessOptions(command)
    .argument('<id>', 'of the source', parseId)
    .option('--wait', 'wait for the end of the run; the exit code is 1 if it failed')
    .action(async (id: string, options: O) => {
      const subject = { kind: 'source', id } as const;
      await withAccess(context, options, { subject }, async (api) => {
        const answer = await request(api, id, options);
        if (options.wait !== true) {
          context.terminal.answer(options.json, answer, `Source ${id} will run.`);
          return;
        }
        const run = await waitForRun(api, id, answer.previous_run_id ?? 0, context.signal);
        context.terminal.answer(options.json, { run }, describeRun(run));
        if (run.status === 'failed') throw new NegativeAnswer();
      });
    });

/** `ledgerbell sources run` */
const runSourceCommand = (context: CommandContext) =>
  runCommand(context, new Command('run').description('run a source now, whatever its schedule'), (api, id) =>
    api.post(`/v1/sources/${id}/run`, {}, Requested),
  );

/** `ledgerbell sources collect-again` */
const collectAgainCommand = (context: CommandContext) =>
  runCommand<RunOptions & { import: string }>(
    context,
    new Command('collect-again')
      .description('collect the file of a withdrawn import again, and run the source now')
      .requiredOption('--import <id>', 'that was withdrawn', parseId),
    (api, id, { import: importId }) =>
      api.post(`/v1/sources/${id}/collect-again`, { import_id: importId }, Requested),
  );

/** Waits for the end of the first run that began after another one. */
async function waitForRun(api: Api, id: string, after: number, signal: AbortSignal): Promise<SourceRun> {
  for (;;) {
    const { runs } = await api.get(`/v1/sources/${id}/runs?per_page=${LOOKED_AT}`, Runs);
    const run = runs.findLast((it) => it.id > after);
    if (run !== undefined && run.status !== 'running') return run;
    await sleep(POLL_INTERVAL, undefined, { signal }).catch(() => {
      throw new Failure(`Interrupted. Source ${id} runs nevertheless.`);
    });
  }
}

function describeRun({ id, status, files, error }: SourceRun): string {
  return `Run ${id} is ${status}: ${countOf(files, 'file')}.${error === null ? '' : ` ${oneLine(error)}`}`;
}

const statusCommand = (name: string, status: 'active' | 'paused', description: string) =>
  subjectCommand('source', {
    name,
    description,
    request: (api, id) => api.patch(`/v1/sources/${id}`, { status }, SourceAnswer),
    text: (_, id) => `Source ${id} is ${status}.`,
  });

/** `ledgerbell sources` */
export const sources: readonly CreateCommand[] = [
  createSourceCommand,
  listCommand({
    description: 'show sources, the oldest first',
    path: '/v1/sources',
    name: 'sources',
    row: Source,
    columns: sourceColumns,
  }),
  subjectCommand('source', {
    name: 'show',
    description: 'show a source and how its last run ended',
    request: (api, id) => api.get(`/v1/sources/${id}`, SourceAnswer),
    text: ({ source }, _, zone) => describeSource(source, zone),
  }),
  runSourceCommand,
  collectAgainCommand,
  (context) =>
    addListOptions(new Command('runs').description('show the runs of a source, the newest first'))
      .argument('<id>', 'of the source', parseId)
      .action((id: string, options: ListOptions) =>
        printList(context, options, {
          path: `/v1/sources/${id}/runs`,
          name: 'runs',
          row: SourceRun,
          columns: runColumns(context.readConfig().zone),
          subject: { kind: 'source', id },
        }),
      ),
  statusCommand('pause', 'paused', 'collect nothing from a source for now'),
  statusCommand('enable', 'active', 'make a paused source active again'),
  subjectCommand('source', {
    name: 'delete',
    description: 'delete a source; its imports and movements stay',
    async question(api, id) {
      const { source } = await api.get(`/v1/sources/${id}`, SourceAnswer);
      return `Delete source ${id}, ${source.title}, with its credentials?`;
    },
    request: (api, id) => api.delete(`/v1/sources/${id}`, Deleted),
    text: (_, id) => `Source ${id} is deleted.`,
  }),
];
