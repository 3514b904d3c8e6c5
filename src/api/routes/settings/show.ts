import * as v from 'valibot';
import { readApiSecret } from '../../../customers/customers.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { createRoute, requireWholeKey } from '../route.ts';

const ApiSettings = v.object({ api_secret: v.string() });

/** GET /v1/settings/api */
export const getApiSettingsRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Settings',
      scope: 'admin',
      operationId: 'getApiSecret',
      summary: 'Get the API secret',
      description: 'The API secret is part of the hash in every notification.',
      answer: { schema: ApiSettings, description: 'The API secret.', secret: 'api_secret' },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Use a key for all accounts.');
      return c.json({ api_secret: await readApiSecret(runtime, caller.customerId) });
    },
  );
