import * as v from 'valibot';
import type { Sql } from '../../../platform/database/transaction.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { Count, IdView, Timestamp } from '../../../platform/validation.ts';
import {
  findRunImports,
  findRuns,
  findSource,
  MAX_RUN_IMPORTS,
  type RunRow,
} from '../../../sources/find-source.ts';
import { readId, readQuery } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { BEYOND_NEWEST, cutPage, paging, pagingParameters } from '../../paging.ts';
import { createRoute } from '../../route.ts';

const PER_PAGE = 100;

const Query = v.strictObject(paging('r1', PER_PAGE));

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

/** GET /v1/sources/:id/runs */
export const listSourceRuns = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'read',
      summary: 'List the runs of a source',
      description:
        'Lists the runs of a source, the newest first. If there is a next page, the header Link has its path. The newest 1,000 runs are kept.',
      path: { id: idParameter('source') },
      query: pagingParameters('r1', PER_PAGE),
      answer: { schema: v.object({ runs: v.array(RunView) }), description: 'A page of runs.' },
    },
    async (c) => {
      const { per_page, cursor = BEYOND_NEWEST } = readQuery(c, Query);
      const { id } = await findSource(database, c.get('caller'), readId(c, 'source'));
      const found = await findRuns(database, id, { before: cursor, limit: per_page + 1 });
      return c.json({ runs: await viewRuns(database, cutPage(c, 'r1', found, per_page)) });
    },
  );

async function viewRuns(sql: Sql, runs: readonly RunRow[]): Promise<v.InferOutput<typeof RunView>[]> {
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
