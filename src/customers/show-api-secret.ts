import * as v from 'valibot';
import { createRoute } from '../http/route.ts';
import { requireWholeKey } from '../http/whole-key.ts';
import type { Runtime } from '../runtime.ts';
import { readApiSecret } from './customers.ts';

export const ApiSettings = v.object({ api_secret: v.string() });

/** GET /v1/settings/api */
export const getApiSettings = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Settings',
      scope: 'admin',
      summary: 'Show the API secret',
      description: 'It is part of the hash in every notification.',
      answer: { schema: ApiSettings, description: 'The secret.', secret: true },
      problems: ['forbidden'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'use a key for all accounts to see or rotate the API secret.');
      return c.json({ api_secret: await readApiSecret(runtime, caller.customerId) });
    },
  );
