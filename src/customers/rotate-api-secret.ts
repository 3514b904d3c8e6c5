import { createRoute } from '../http/route.ts';
import { requireWholeKey } from '../http/whole-key.ts';
import type { Runtime } from '../runtime.ts';
import { rotateApiSecret } from './customers.ts';
import { ApiSettings } from './show-api-secret.ts';

/** POST /v1/settings/api/rotate */
export const rotateCustomerSecret = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Settings',
      scope: 'admin',
      summary: 'Replace the API secret',
      description:
        'The new secret replaces the old one immediately: the hash of every notification sent from then on is made with it, including retries. Webhook signatures do not change.',
      answer: { schema: ApiSettings, description: 'The new secret.', secret: true },
      problems: ['forbidden'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'use a key for all accounts to see or rotate the API secret.');
      return c.json({ api_secret: await rotateApiSecret(runtime, caller.customerId) });
    },
  );
