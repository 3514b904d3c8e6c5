import * as v from 'valibot';
import { hasAccount } from '../../customers/accounts.ts';
import type { Runtime } from '../../database/runtime.ts';
import { readId, readJson, readQuery } from '../../http/input.ts';
import { BEYOND_NEWEST, linkNext, paging } from '../../http/paging.ts';
import { ConflictView, viewConflict } from '../../intake/conflict-view.ts';
import {
  CONFLICT_STATUSES,
  decideConflict,
  findConflict,
  findConflicts,
} from '../../intake/decide-conflict.ts';
import { invalid } from '../../platform/problem.ts';
import { IdText } from '../../platform/whole-numbers.ts';
import { idParameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

const PER_PAGE = 100;

const Query = v.strictObject({
  account_id: v.pipe(v.optional(IdText), v.description('Only conflicts of this account.')),
  status: v.pipe(
    v.optional(v.picklist(CONFLICT_STATUSES, `must be one of ${CONFLICT_STATUSES.join(', ')}`)),
    v.description('Only conflicts with this status.'),
  ),
  ...paging('f1', PER_PAGE),
});

const Decision = v.strictObject({
  decision: v.pipe(
    v.picklist(['store', 'ignore'], 'must be "store" or "ignore"'),
    v.description('store: the row is a movement of its own. ignore: the stored movement is the right one.'),
  ),
});

/** Adds the routes of conflicts. */
export function addConflictRoutes(route: AddRoute, runtime: Runtime): void {
  const { database } = runtime;
  route('GET /v1/conflicts', {
    tag: 'Conflicts',
    scope: 'read',
    operationId: 'listConflicts',
    summary: 'List conflicts',
    description:
      'Lists rows that came with the unique_id of a stored movement and another direction, amount or date, beside that movement, the newest first. If there is a next page, the header Link has its path.',
    query: Query,
    answer: { schema: v.object({ conflicts: v.array(ConflictView) }), description: 'A page of conflicts.' },
    handle: async (c) => {
      const { account_id: accountId, status, per_page, cursor = BEYOND_NEWEST } = readQuery(c, Query);
      const caller = c.get('caller');
      if (accountId !== undefined && !(await hasAccount(database, caller, accountId)))
        throw invalid([{ path: 'account_id', message: 'is not one of your accounts' }]);
      const filters = { accountId, status, before: cursor };
      const { conflicts, next } = await findConflicts(database, caller, filters, per_page);
      linkNext(c, 'f1', next);
      return c.json({ conflicts: conflicts.map(({ row, stored }) => viewConflict(row, stored)) });
    },
  });

  route('GET /v1/conflicts/:id', {
    tag: 'Conflicts',
    scope: 'read',
    operationId: 'getConflict',
    summary: 'Get a conflict',
    path: { id: idParameter('conflict') },
    answer: { schema: v.object({ conflict: ConflictView }), description: 'The conflict.' },
    handle: async (c) => {
      const { row, stored } = await findConflict(database, c.get('caller'), readId(c, 'conflict'));
      return c.json({ conflict: viewConflict(row, stored) });
    },
  });

  route('POST /v1/conflicts/:id', {
    tag: 'Conflicts',
    scope: 'import',
    alsoNeeds: 'read',
    idempotent: true,
    operationId: 'decideConflict',
    summary: 'Decide a conflict',
    description:
      'store: the received row is stored as a movement under an id of its own, and sent to the webhooks that match it. ignore: it is not. A decision cannot be changed: for the other one, the answer is 409.',
    path: { id: idParameter('conflict') },
    body: { 'application/json': Decision },
    answer: { schema: v.object({ conflict: ConflictView }), description: 'The decided conflict.' },
    problems: ['conflict-decided', 'removed-time'],
    handle: async (c) => {
      const caller = c.get('caller');
      const found = await findConflict(runtime.database, caller, readId(c, 'conflict'));
      const { decision } = await readJson(c, Decision);
      const { row, stored } = await decideConflict(runtime, caller, found.row, decision);
      return c.json({ conflict: viewConflict(row, stored) });
    },
  });
}
