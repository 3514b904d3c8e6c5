import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId } from '../../../http/input.ts';
import { ImportView, viewImport } from '../../../intake/import-view.ts';
import { retryImport } from '../../../intake/imports.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** POST /v1/imports/:id/retry */
export const retryImportRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Imports',
      scope: 'import',
      idempotent: true,
      operationId: 'retryImport',
      summary: 'Retry a failed import',
      description:
        'Queues a failed import again. It continues after the rows that are stored already, so nothing is stored twice. For an import with another status, or whose API key was deleted, the answer is 409.',
      path: { id: idParameter('import') },
      answer: {
        status: 202,
        schema: v.object({ import: ImportView }),
        description: 'The import, now queued.',
      },
      problems: ['import-not-failed', 'import-not-retryable'],
    },
    async (c) => {
      const retried = await retryImport(runtime, c.get('caller'), readId(c, 'import'));
      return c.json({ import: viewImport(retried) }, 202);
    },
  );
