import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import { notFound } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { findSource } from '../../../sources/find-source.ts';
import { deleteSource } from '../../../sources/save-source.ts';
import { unscheduleSource } from '../../../sources/source-jobs.ts';
import { readId } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute, requireWholeKey } from '../../route.ts';

/** DELETE /v1/sources/:id */
export const deleteSourceRoute = ({ database, queues, log }: Runtime) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'import',
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
      const { id } = await findSource(database, caller, readId(c, 'source'));
      const deleted = await deleteSource(database, id, (sql) =>
        recordChange(sql, caller, { action: 'delete', subject: `source ${id}` }),
      );
      if (!deleted) throw notFound('source');
      // Redis may be unreachable. The next job of its scheduler then removes it.
      await unscheduleSource(queues, id).catch((err: unknown) =>
        log.warn({ err, sourceId: id }, 'source not unscheduled yet'),
      );
      return c.json({ status: 'success' });
    },
  );
