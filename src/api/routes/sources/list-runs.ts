import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { BEYOND_NEWEST, cutPage, paging, pagingParameters } from '../../../http/paging.ts';
import { findSource, listRuns } from '../../../sources/find-source.ts';
import { RunView, viewRuns } from '../../../sources/source-view.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const PER_PAGE = 100;

const Query = v.strictObject(paging('r1', PER_PAGE));

/** GET /v1/sources/:id/runs */
export const listSourceRunsRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'read',
      operationId: 'listSourceRuns',
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
      const found = await listRuns(database, id, { before: cursor }, per_page + 1);
      return c.json({ runs: await viewRuns(database, cutPage(c, 'r1', found, per_page)) });
    },
  );
