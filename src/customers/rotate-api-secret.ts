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
        'At once and without an overlap: only the new one counts in the hash of the notifications sent from then on, repeated ones included. The signatures of webhooks are not affected.',
      answer: { schema: ApiSettings, description: 'The new secret.', secret: true },
      problems: ['forbidden'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'the API secret is for keys that see all.');
      return c.json({ api_secret: await rotateApiSecret(runtime, caller.customerId) });
    },
  );
