import * as v from 'valibot';
import type { Runtime } from '../database/runtime.ts';
import { SEALED } from '../database/secret-box.ts';
import type { Sql } from '../database/transaction.ts';
import { Count, IdView, Timestamp, withExample } from '../platform/validation.ts';
import { findRunImports, MAX_RUN_IMPORTS, type RunRow, type SourceRow } from './find-source.ts';

/** Sources and their runs as the API shows them. */

/** The kinds of sources, by the name that is stored in `sources.kind`. */
export const KIND_NAMES = ['folder', 'sftp', 'http', 's3'] as const;
export type KindName = (typeof KIND_NAMES)[number];

/** A source as the API shows it. */
export const SourceView = v.object({
  id: IdView,
  title: v.string(),
  kind: v.picklist(KIND_NAMES),
  settings: v.pipe(v.looseObject({}), v.description('Where the files are.')),
  credentials: v.pipe(
    withExample(v.array(v.string()), ['password']),
    v.description('The names of the credentials. Their values are not shown.'),
  ),
  schedule: v.pipe(
    v.union([
      v.object({ every: withExample(v.string(), '15m') }),
      v.object({ cron: v.string(), time_zone: v.string() }),
    ]),
    v.description('When the source is due: at equal intervals, or by cron in a time zone.'),
  ),
  account_id: v.pipe(
    withExample(v.nullable(IdView), 1),
    v.description('The account that all files are about; null: the statements say which.'),
  ),
  format: v.string(),
  profile: withExample(v.nullable(v.string()), 'garanti-bbva'),
  encoding: withExample(v.nullable(v.string()), 'windows-1254'),
  create_accounts: v.boolean(),
  force_account: v.boolean(),
  settle_seconds: v.pipe(
    v.nullable(Count),
    v.description(
      'A file that was changed within this time is left to a later run; null: the kind offers only complete files.',
    ),
  ),
  on_conflict: withExample(v.nullable(v.picklist(['hold', 'store'])), 'hold'),
  status: v.picklist(['active', 'paused']),
  is_running: v.pipe(v.boolean(), v.description('Whether a run is in progress.')),
  last_run_at: v.pipe(v.nullable(Timestamp), v.description('When the last run began.')),
  next_run_at: v.pipe(
    v.nullable(Timestamp),
    v.description(
      'When the next run is due, later than the schedule says after a failed run; null while paused.',
    ),
  ),
  consecutive_failures: v.pipe(Count, v.description('Failed runs since the last one that was done.')),
  error: v.pipe(
    withExample(v.nullable(v.string()), 'The server refused the password.'),
    v.description('What was wrong with the last run, or with the last files; null: nothing.'),
  ),
  created_at: Timestamp,
});

export type SourceView = v.InferOutput<typeof SourceView>;

export const viewSource = ({ secrets }: Pick<Runtime, 'secrets'>, it: SourceRow): SourceView => ({
  id: Number(it.id),
  title: it.title,
  kind: it.kind as KindName,
  settings: JSON.parse(it.settings),
  credentials:
    it.credentials === null
      ? []
      : Object.keys(JSON.parse(secrets.open(it.credentials, SEALED.sourceCredentials(it.id)))),
  schedule: JSON.parse(it.schedule),
  account_id: it.account_id === null ? null : Number(it.account_id),
  format: it.format,
  profile: it.profile,
  encoding: it.encoding,
  create_accounts: it.create_accounts === 1,
  force_account: it.force_account === 1,
  settle_seconds: it.settle_seconds,
  on_conflict: it.on_conflict,
  // A deleted source is never shown.
  status: it.status as SourceView['status'],
  is_running: it.run_id !== null,
  last_run_at: it.last_run_at?.toISOString() ?? null,
  next_run_at: it.next_run_at?.toISOString() ?? null,
  consecutive_failures: it.consecutive_failures,
  error: it.error,
  created_at: it.created_at.toISOString(),
});

export const RunView = v.object({
  id: IdView,
  status: v.picklist(['running', 'done', 'failed']),
  started_at: Timestamp,
  finished_at: v.nullable(Timestamp),
  files: v.pipe(Count, v.description('The number of files that were collected.')),
  imports: v.pipe(
    v.array(v.object({ id: IdView, file: v.string() })),
    v.description(`The imports of these files, at most ${MAX_RUN_IMPORTS} of each run.`),
  ),
  error: v.pipe(
    withExample(v.nullable(v.string()), 'The server refused the password.'),
    v.description('Why the run failed, or what is wrong with a file; null: nothing.'),
  ),
});

export async function viewRuns(sql: Sql, runs: readonly RunRow[]): Promise<v.InferOutput<typeof RunView>[]> {
  const imports = await findRunImports(
    sql,
    runs.flatMap(({ id, files }) => (files > 0 ? [id] : [])),
  );
  return runs.map(({ id, status, started_at, finished_at, files, error }) => ({
    id: Number(id),
    status,
    started_at: started_at.toISOString(),
    finished_at: finished_at?.toISOString() ?? null,
    files,
    imports: imports.get(id) ?? [],
    error,
  }));
}
