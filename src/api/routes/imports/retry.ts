import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import { findImport, ImportView, viewImport } from '../../../imports/find-import.ts';
import { type ImportRetry, retryFailedImport } from '../../../imports/retry-failed.ts';
import { Problem } from '../../../platform/problems/problem.ts';
import { queueImports } from '../../../platform/queues/queues.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { readId } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../../route.ts';

/** POST /v1/imports/:id/retry */
export const retryImportRoute = ({ database, queues, log }: Runtime) =>
  createRoute(
    {
      tag: 'Imports',
      scope: 'import',
      idempotent: true,
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
      const caller = c.get('caller');
      const { id } = await findImport(database, caller, readId(c, 'import'));
      const retried = await retryFailedImport(database, id, (sql) =>
        recordChange(sql, caller, { action: 'retry', subject: `import ${id}` }),
      );
      requireQueued(retried);
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
        'import-not-failed',
        `Only a failed import can be retried, and the status of this one is ${retry.status}.`,
      );
    case 'api key deleted':
      throw new Problem(
        'import-not-retryable',
        'The API key that sent this import was deleted. Send the file again with another key.',
      );
    case 'body deleted':
      throw new Problem('import-not-retryable', 'The body of this import was deleted. Send the file again.');
  }
}
