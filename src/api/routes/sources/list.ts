import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readQuery } from '../../../http/input.ts';
import { encodeCursor, linkNext, MAX_PER_PAGE, paging, pagingParameters } from '../../../http/paging.ts';
import { listSources } from '../../../sources/find-source.ts';
import { SourceView, viewSource } from '../../../sources/source-view.ts';
import { createRoute } from '../route.ts';

const Query = v.strictObject(paging('s1', MAX_PER_PAGE));

/** GET /v1/sources */
export const listSourcesRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'read',
      operationId: 'listSources',
      summary: 'List your sources',
      description:
        'Lists sources, the oldest first. If there is a next page, the header Link has its path. A limited API key sees the sources of its accounts.',
      query: pagingParameters('s1', MAX_PER_PAGE),
      answer: { schema: v.object({ sources: v.array(SourceView) }), description: 'A page of sources.' },
    },
    async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const filters = { viewer: c.get('caller'), after: cursor };
      const { rows, next } = await listSources(runtime.database, filters, per_page);
      if (next !== null) linkNext(c, encodeCursor(next, 's1'));
      return c.json({ sources: rows.map((source) => viewSource(runtime, source)) });
    },
  );
