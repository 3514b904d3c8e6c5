import type { Caller } from '../customers/caller.ts';
import type { Sql } from '../platform/database/transaction.ts';
import { notFound } from '../platform/problems/problem.ts';

/** A row of `sources`, as the API needs it. */
export interface SourceRow {
  id: string;
  customer_id: string;
  title: string;
  kind: string;
  settings: string;
  credentials: string | null;
  schedule: string;
  account_id: string | null;
  format: string;
  profile: string | null;
  create_accounts: number;
  status: 'active' | 'paused' | 'deleted';
  run_id: string | null;
  next_run_at: Date | null;
  last_run_at: Date | null;
  consecutive_failures: number;
  error: string | null;
  created_at: Date;
}

/** A key limited to accounts sees the sources of its accounts, and not those for all. */
const VISIBLE = `
  SELECT id, customer_id, title, kind, settings, credentials, schedule, account_id, format, profile, create_accounts, status, run_id,
    next_run_at, last_run_at, consecutive_failures, error, created_at
  FROM sources WHERE customer_id = ? AND status <> 'deleted' AND (? OR account_id IN (?))`;

const visibleTo = ({ customerId, accountIds }: Caller) => [
  customerId,
  accountIds === 'all',
  // `IN ()` is not valid SQL, and `IN (NULL)` matches nothing.
  accountIds === 'all' || accountIds.length === 0 ? [null] : accountIds,
];

/** Reads sources, the oldest first. Index: sources_page. */
export function findSources(
  sql: Sql,
  caller: Caller,
  { after, limit }: { after: string; limit: number },
): Promise<SourceRow[]> {
  return sql.query(`${VISIBLE} AND id > ? ORDER BY id LIMIT ?`, [...visibleTo(caller), after, limit]);
}

/** Reads a source. @throws {Problem} 404 when the caller cannot see it. */
export async function findSource(sql: Sql, caller: Caller, id: string): Promise<SourceRow> {
  const [found] = await sql.query<SourceRow[]>(`${VISIBLE} AND id = ?`, [...visibleTo(caller), id]);
  if (found === undefined) throw notFound('source');
  return found;
}

/** A row of `source_runs`. */
export interface RunRow {
  id: string;
  status: 'running' | 'done' | 'failed';
  started_at: Date;
  finished_at: Date | null;
  files: number;
  error: string | null;
}

/** Imports that are shown of each run. */
export const MAX_RUN_IMPORTS = 100;

/** Index: source_runs_page. */
const RUNS = `
  SELECT id, status, started_at, finished_at, files, error FROM source_runs
  WHERE source_id = ? AND id < ? ORDER BY id DESC LIMIT ?`;

/** Reads the runs of a source, newest first. */
export const findRuns = (
  sql: Sql,
  sourceId: string,
  { before, limit }: { before: string; limit: number },
): Promise<RunRow[]> => sql.query(RUNS, [sourceId, before, limit]);

/** Index: source_files_run. */
const IMPORTS = `
  SELECT runId, id, file FROM (
    SELECT run_id AS runId, import_id AS id, name AS file, ROW_NUMBER() OVER (PARTITION BY run_id ORDER BY id) AS place
    FROM source_files WHERE run_id IN (?) AND import_id IS NOT NULL) f
  WHERE place <= ${MAX_RUN_IMPORTS} ORDER BY runId, place`;

/** Reads the imports of runs, in the order in which their files were collected. @returns them by run. */
export async function findRunImports(
  sql: Sql,
  runIds: readonly string[],
): Promise<Map<string, { id: number; file: string }[]>> {
  const imports = new Map<string, { id: number; file: string }[]>();
  if (runIds.length === 0) return imports;
  const rows = await sql.query<{ runId: string; id: string; file: string }[]>(IMPORTS, [runIds]);
  for (const { runId, id, file } of rows)
    imports.set(runId, [...(imports.get(runId) ?? []), { id: Number(id), file }]);
  return imports;
}
