import * as v from 'valibot';
import type { Sql } from '../database/transaction.ts';
import { Count, IdView, Timestamp } from '../platform/validation.ts';
import { findRunImports, MAX_RUN_IMPORTS, type RunRow } from './find-source.ts';

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
    v.nullable(v.string()),
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
