import * as v from 'valibot';
import { hasAccount } from '../../../customers/accounts.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { BEYOND_NEWEST, encodeCursor, linkNext, paging, pagingParameters } from '../../../http/paging.ts';
import { ConflictView, viewConflict } from '../../../intake/conflict-view.ts';
import { CONFLICT_STATUSES, findConflict, findConflicts } from '../../../intake/decide-conflict.ts';
import { invalid } from '../../../platform/problem.ts';
import { Id } from '../../../platform/validation.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const PER_PAGE = 100;

const Query = v.strictObject({
  ...paging('f1', PER_PAGE),
  account_id: v.optional(Id),
  status: v.optional(v.picklist(CONFLICT_STATUSES, `must be one of ${CONFLICT_STATUSES.join(', ')}`)),
});

/** GET /v1/conflicts */
export const listConflictsRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Conflicts',
      scope: 'read',
      operationId: 'listConflicts',
      summary: 'List conflicts',
      description:
        'Lists rows that came with the unique_id of a stored movement and another direction, amount or date, beside that movement, the newest first. If there is a next page, the header Link has its path.',
      query: {
        account_id: {
          description: 'Only conflicts of this account.',
          schema: { type: 'integer', minimum: 1 },
        },
        status: {
          description: 'Only conflicts with this status.',
          schema: { type: 'string', enum: [...CONFLICT_STATUSES] },
        },
        ...pagingParameters('f1', PER_PAGE),
      },
      answer: { schema: v.object({ conflicts: v.array(ConflictView) }), description: 'A page of conflicts.' },
    },
    async (c) => {
      const { account_id: accountId, status, per_page, cursor = BEYOND_NEWEST } = readQuery(c, Query);
      const caller = c.get('caller');
      if (accountId !== undefined && !(await hasAccount(database, caller, accountId)))
        throw invalid([{ path: 'account_id', message: 'is not one of your accounts' }]);
      const filters = { accountId, status, before: cursor };
      const { conflicts, next } = await findConflicts(database, caller, filters, per_page);
      if (next !== null) linkNext(c, encodeCursor(next, 'f1'));
      return c.json({ conflicts: conflicts.map(({ row, stored }) => viewConflict(row, stored)) });
    },
  );

/** GET /v1/conflicts/:id */
export const getConflictRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Conflicts',
      scope: 'read',
      operationId: 'getConflict',
      summary: 'Get a conflict',
      path: { id: idParameter('conflict') },
      answer: { schema: v.object({ conflict: ConflictView }), description: 'The conflict.' },
    },
    async (c) => {
      const { row, stored } = await findConflict(database, c.get('caller'), readId(c, 'conflict'));
      return c.json({ conflict: viewConflict(row, stored) });
    },
  );
