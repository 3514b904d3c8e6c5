import * as v from 'valibot';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { Problem } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import { queueImports } from '../queues/jobs.ts';
import type { Runtime } from '../runtime.ts';
import { findImport } from './find.ts';
import { type ImportRetry, retryFailedImport } from './retry-failed.ts';
import { ImportView, viewImport } from './view.ts';

/** POST /v1/imports/:id/retry */
export const retryImport = ({ database, queues, log }: Runtime) =>
  createRoute(
    {
      tag: 'Imports',
      scope: 'import',
      summary: 'Retry a failed import',
      description:
        'Queues an import again whose status is failed. It continues after the rows that are stored already, so nothing is stored twice. An import of any other status, and one whose API key was deleted, is answered 409.',
      path: { id: idParameter('import') },
      answer: { status: 202, schema: v.object({ import: ImportView }), description: 'The import, queued.' },
      problems: ['not-found', 'conflict'],
    },
    async (c) => {
      const caller = c.get('caller');
      const { id } = await findImport(database, caller, readId(c, 'import'));
      requireQueued(await retryFailedImport(database, id));
      // Redis may be unreachable. The reconciler then queues the import within 10 s.
      await queueImports(queues, [id]).catch((err: unknown) =>
        log.warn({ err, importId: id }, 'import not queued yet'),
      );
      return c.json({ import: viewImport(await findImport(database, caller, id)) }, 202);
    },
  );

/** @throws {Problem} 409, unless the import is queued. */
function requireQueued(retry: ImportRetry): void {
  switch (retry.outcome) {
    case 'queued':
      return;
    case 'not failed':
      throw new Problem(
        'conflict',
        `Only a failed import can be retried, and the status of this one is ${retry.status}.`,
      );
    case 'api key deleted':
      throw new Problem(
        'conflict',
        'The API key that sent this import was deleted, so it is not known which accounts its rows may have: send the file again with another key.',
      );
    case 'body deleted':
      throw new Problem('conflict', 'What was sent is not kept any more: send the file again.');
  }
}
