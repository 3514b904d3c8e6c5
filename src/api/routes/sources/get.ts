import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId } from '../../../http/input.ts';
import { findSource } from '../../../sources/find-source.ts';
import { SourceView, viewSource } from '../../../sources/source-view.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** GET /v1/sources/:id */
export const getSourceRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'read',
      operationId: 'getSource',
      summary: 'Get a source',
      path: { id: idParameter('source') },
      answer: {
        schema: v.object({ source: SourceView }),
        description: 'The source, without its credentials.',
      },
    },
    async (c) => {
      const source = await findSource(runtime.database, c.get('caller'), readId(c, 'source'));
      return c.json({ source: viewSource(runtime, source) });
    },
  );
