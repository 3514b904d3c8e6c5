import * as v from 'valibot';
import { createApiKey, NewApiKey } from '../../../customers/keys.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readJson } from '../../../http/input.ts';
import { IdView, ShownOnce } from '../../../platform/validation.ts';
import { createRoute, requireWholeKey } from '../route.ts';

/** POST /v1/apikeys */
export const createApiKeyRoute = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'API keys',
      scope: 'admin',
      idempotent: true,
      operationId: 'createApiKey',
      summary: 'Create an API key',
      description:
        'Creates an API key for all accounts, including those that you create later, or for a list of accounts. A limited key sees only its accounts, their movements and their webhooks. The key itself is shown only in this answer.',
      body: { 'application/json': NewApiKey },
      answer: {
        schema: v.object({ apikey: v.object({ id: IdView, apikey: ShownOnce }) }),
        description: 'The API key.',
        secret: 'apikey.apikey',
      },
      problems: ['limited-api-key', 'api-key-limit-reached'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Create API keys with a key for all accounts.');
      const body = await readJson(c, NewApiKey);
      const { id, apikey } = await createApiKey(database, caller, body, config.keysPerCustomer);
      return c.json({ apikey: { id: Number(id), apikey } });
    },
  );
