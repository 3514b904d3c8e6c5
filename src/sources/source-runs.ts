import type { Sql } from '../database/transaction.ts';

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
