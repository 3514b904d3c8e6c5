import * as v from 'valibot';
import { deleteApiKey } from '../../../customers/keys.ts';
import type { Runtime } from '../../../database/runtime.ts';
import type { CallerCache } from '../../../http/authentication.ts';
import { readId } from '../../../http/input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** DELETE /v1/apikeys/:id */
export const deleteApiKeyRoute = ({ database }: Runtime, callers: CallerCache) =>
  createRoute(
    {
      tag: 'API keys',
      scope: 'admin',
      operationId: 'deleteApiKey',
      summary: 'Delete an API key',
      description:
        'Requests with a deleted key are answered 401. A key can delete itself. A key cannot be deleted while an import that was sent with it is queued or running.',
      path: { id: idParameter('API key') },
      answer: { schema: v.object({ status: v.literal('success') }), description: 'The API key is deleted.' },
      problems: ['limited-api-key', 'unfinished-import'],
    },
    async (c) => {
      const id = readId(c, 'API key');
      await deleteApiKey(database, c.get('caller'), id);
      callers.forget(id);
      return c.json({ status: 'success' });
    },
  );
