import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId } from '../../../http/input.ts';
import { deleteSource } from '../../../sources/sources.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute, requireWholeKey } from '../route.ts';

/** DELETE /v1/sources/:id */
export const deleteSourceRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'import',
      operationId: 'deleteSource',
      summary: 'Delete a source',
      description:
        'Nothing more is collected from the source, a run in progress ends, and its credentials are deleted. Its imports and movements stay. Needs a key for all accounts.',
      path: { id: idParameter('source') },
      answer: { schema: v.object({ status: v.literal('success') }), description: 'The source is deleted.' },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Delete sources with a key for all accounts.');
      await deleteSource(runtime, caller, readId(c, 'source'));
      return c.json({ status: 'success' });
    },
  );
