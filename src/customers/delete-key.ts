import * as v from 'valibot';
import type { CallerCache } from '../http/caller-cache.ts';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { notFound, Problem } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';
import { deleteApiKey } from './keys.ts';

/** DELETE /v1/apikeys/:id */
export const removeApiKey = ({ database }: Runtime, callers: CallerCache) =>
  createRoute(
    {
      tag: 'API keys',
      scope: 'admin',
      summary: 'Delete an API key',
      description:
        'Requests with the key get 401 from then on. A key can delete itself. You cannot delete a key while an import that was sent with it is unfinished.',
      path: { id: idParameter('API key') },
      answer: { schema: v.object({ status: v.literal('success') }), description: 'It is deleted.' },
      problems: ['forbidden', 'not-found', 'conflict'],
    },
    async (c) => {
      const { customerId, apiKeyId, accountIds } = c.get('caller');
      const id = readId(c, 'API key');
      if (accountIds !== 'all' && id !== apiKeyId) {
        throw new Problem(
          'forbidden',
          'This API key is limited to some accounts and can only delete itself: use a key for all accounts.',
        );
      }
      const deletion = await deleteApiKey(database, { id, customerId });
      if (deletion === 'not found') throw notFound('API key');
      if (deletion !== 'deleted') {
        throw new Problem(
          'conflict',
          `Import ${deletion.unfinishedImport}, which was sent with this API key, is not finished: delete the key when it is.`,
        );
      }
      callers.forget(id);
      return c.json({ status: 'success' });
    },
  );
