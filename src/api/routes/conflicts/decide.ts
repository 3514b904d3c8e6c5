import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readJson } from '../../../http/input.ts';
import { ConflictView, viewConflict } from '../../../intake/conflict-view.ts';
import { decideConflict, findConflict } from '../../../intake/decide-conflict.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const Body = v.strictObject({
  decision: v.pipe(
    v.picklist(['store', 'ignore'], 'must be "store" or "ignore"'),
    v.description('store: the row is a movement of its own. ignore: the stored movement is the right one.'),
  ),
});

/** POST /v1/conflicts/:id */
export const decideConflictRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Conflicts',
      scope: 'import',
      alsoNeeds: 'read',
      idempotent: true,
      operationId: 'decideConflict',
      summary: 'Decide a conflict',
      description:
        'store: the received row is stored as a movement under an id of its own, and sent to the webhooks that match it. ignore: it is not. A decision cannot be changed: for the other one, the answer is 409.',
      path: { id: idParameter('conflict') },
      body: { 'application/json': Body },
      answer: { schema: v.object({ conflict: ConflictView }), description: 'The decided conflict.' },
      problems: ['conflict-decided', 'removed-time'],
    },
    async (c) => {
      const caller = c.get('caller');
      const found = await findConflict(runtime.database, caller, readId(c, 'conflict'));
      const { decision } = await readJson(c, Body);
      const { row, stored } = await decideConflict(runtime, caller, found.row, decision);
      return c.json({ conflict: viewConflict(row, stored) });
    },
  );
