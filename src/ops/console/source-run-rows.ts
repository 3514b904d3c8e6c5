import type { Sql } from '../../database/transaction.ts';
import type { RunRow } from '../../sources/source-runs.ts';

/** Reads the runs and files of one source, as the console shows them. */

export const RUN_STATUSES = ['running', 'done', 'failed'] as const;

export interface RunFilters {
  status: (typeof RUN_STATUSES)[number] | null;
  /** UTC, as MySQL has it; null: no bound. */
  since: string | null;
  until: string | null;
  /** Only runs below this id. */
  before: string;
}

/** Index: source_runs_page. At most 1,000 runs of a source are kept, so filters may leave out what they like. */
const RUNS = (conditions: readonly string[]) => `
  SELECT id, status, started_at, finished_at, files, error FROM source_runs FORCE INDEX (source_runs_page)
  WHERE ${['source_id = ?', ...conditions, 'id < ?'].join(' AND ')} ORDER BY id DESC LIMIT ?`;

/** Lists runs of a source that began within a span of time, newest first. */
export function listRuns(
  sql: Sql,
  sourceId: string,
  { status, since, until, before }: RunFilters,
  limit: number,
): Promise<RunRow[]> {
  const given = [
    ['status = ?', status] as const,
    ['started_at >= ?', since] as const,
    ['started_at <= ?', until] as const,
  ].filter(([, value]) => value !== null);
  return sql.query(RUNS(given.map(([condition]) => condition)), [
    sourceId,
    ...given.map(([, value]) => value),
    before,
    limit,
  ]);
}

/** Index of both parts: source_runs_page. */
const FAILING_SINCE = `
  SELECT r.started_at FROM source_runs r FORCE INDEX (source_runs_page)
  WHERE r.source_id = ? AND r.status = 'failed' AND r.id > COALESCE(
    (SELECT MAX(d.id) FROM source_runs d FORCE INDEX (source_runs_page) WHERE d.source_id = ? AND d.status = 'done'), 0)
  ORDER BY r.id LIMIT 1`;

/** When the first failed run after the last one that was done began; null: the last run was done. */
export async function readFailingSince(sql: Sql, sourceId: string): Promise<Date | null> {
  const [run] = await sql.query<{ started_at: Date }[]>(FAILING_SINCE, [sourceId, sourceId]);
  return run?.started_at ?? null;
}

export interface WrongFile {
  name: string;
  run_id: string;
  /** Null: it was refused without an import. */
  import_id: string | null;
  created_at: Date;
}

/** Index: source_files_outcome. */
const WRONG_FILES = `
  SELECT name, run_id, import_id, created_at FROM source_files FORCE INDEX (source_files_outcome)
  WHERE outcome = 'failed' AND source_id = ? ORDER BY id DESC LIMIT ?`;

/** The newest files of a source that could not be imported, or not all of them. */
export const readWrongFiles = (sql: Sql, sourceId: string, most: number): Promise<WrongFile[]> =>
  sql.query(WRONG_FILES, [sourceId, most]);
