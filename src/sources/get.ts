import * as v from 'valibot';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';
import { findSource } from './find.ts';
import { SourceView, viewSource } from './view.ts';

/** GET /v1/sources/:id */
export const getSource = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'read',
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
