import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import { deleteApiKey } from '../../../customers/keys.ts';
import { notFound, Problem } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { readId } from '../../input.ts';
import type { CallerCache } from '../../middleware/authentication.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../../route.ts';

/** DELETE /v1/apikeys/:id */
export const deleteApiKeyRoute = ({ database }: Runtime, callers: CallerCache) =>
  createRoute(
    {
      tag: 'API keys',
      scope: 'admin',
      summary: 'Delete an API key',
      description:
        'Requests with a deleted key are answered 401. A key can delete itself. A key cannot be deleted while an import that was sent with it is queued or running.',
      path: { id: idParameter('API key') },
      answer: { schema: v.object({ status: v.literal('success') }), description: 'The API key is deleted.' },
      problems: ['limited-api-key', 'unfinished-import'],
    },
    async (c) => {
      const caller = c.get('caller');
      const { customerId, apiKeyId, accountIds } = caller;
      const id = readId(c, 'API key');
      if (accountIds !== 'all' && id !== apiKeyId) {
        throw new Problem(
          'limited-api-key',
          'This API key is limited to some accounts, so the only key it can delete is itself. Use a key for all accounts.',
        );
      }
      const deletion = await deleteApiKey(database, { id, customerId }, (sql) =>
        recordChange(sql, caller, { action: 'delete', subject: `API key ${id}` }),
      );
      if (deletion === 'not found') throw notFound('API key');
      if (deletion !== 'deleted') {
        throw new Problem(
          'unfinished-import',
          `Import ${deletion.unfinishedImport} was sent with this API key and is not finished. Delete the key when the import is done or failed.`,
        );
      }
      callers.forget(id);
      return c.json({ status: 'success' });
    },
  );
