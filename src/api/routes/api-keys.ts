import * as v from 'valibot';
import { createApiKey, deleteApiKey, findKeys, NewApiKey } from '../../customers/api-keys.ts';
import { KeyView, viewKey } from '../../customers/key-view.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { CallerCache } from '../../http/admission.ts';
import { readId, readJson, readQuery } from '../../http/input.ts';
import { linkPage, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import { IdView, ShownOnce } from '../../platform/validation.ts';
import { idParameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

const Query = v.strictObject(paging('k1', MAX_PER_PAGE));

/** Adds the routes of API keys. */
export function addApiKeyRoutes(route: AddRoute, runtime: Runtime, callers: CallerCache): void {
  const { config, database } = runtime;
  route('GET /v1/apikeys', {
    tag: 'API keys',
    scope: 'admin',
    wholeKey: 'List API keys with a key for all accounts.',
    operationId: 'listApiKeys',
    summary: 'List your API keys',
    description:
      'Lists the API keys, the oldest first, without the keys themselves. If there is a next page, the header Link has its path.',
    query: Query,
    answer: { schema: v.object({ apikeys: v.array(KeyView) }), description: 'A page of API keys.' },
    handle: async (c) => {
      const caller = c.get('caller');
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const page = { after: cursor, limit: per_page + 1 };
      const found = await findKeys(database, caller.customerId, page);
      return c.json({ apikeys: linkPage(c, 'k1', found, per_page).map(viewKey) });
    },
  });

  route('POST /v1/apikeys', {
    tag: 'API keys',
    scope: 'admin',
    wholeKey: 'Create API keys with a key for all accounts.',
    idempotent: true,
    operationId: 'createApiKey',
    summary: 'Create an API key',
    description:
      'Creates an API key for all accounts, including those that you create later, or for a list of accounts. A limited key sees only its accounts, their movements and their webhooks. The key itself is shown only in this answer.',
    body: { 'application/json': NewApiKey },
    answer: {
      schema: v.object({ apikey: v.object({ id: IdView, apikey: ShownOnce }) }),
      description: 'The API key.',
      secrets: ['apikey.apikey'],
    },
    problems: ['api-key-limit-reached'],
    handle: async (c) => {
      const caller = c.get('caller');
      const body = await readJson(c, NewApiKey);
      const { id, apikey } = await createApiKey(database, caller, body, config.keysPerCustomer);
      return c.json({ apikey: { id: Number(id), apikey } });
    },
  });

  route('DELETE /v1/apikeys/:id', {
    tag: 'API keys',
    scope: 'admin',
    operationId: 'deleteApiKey',
    summary: 'Delete an API key',
    description:
      'Requests with a deleted key are answered 401. A key can delete itself. A key cannot be deleted while an import that was sent with it is queued or running.',
    path: { id: idParameter('API key') },
    answer: { schema: v.object({ status: v.literal('success') }), description: 'The API key is deleted.' },
    problems: ['limited-api-key', 'unfinished-import'],
    handle: async (c) => {
      const id = readId(c, 'API key');
      await deleteApiKey(database, c.get('caller'), id);
      callers.forget(id);
      return c.json({ status: 'success' });
    },
  });
}
