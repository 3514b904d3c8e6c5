import * as v from 'valibot';
import { rotateApiSecret } from '../../../customers/customers.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { ShownOnce } from '../../../platform/validation.ts';
import { createRoute, requireWholeKey } from '../route.ts';

/** POST /v1/settings/api/rotate */
export const rotateApiSecretRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Settings',
      scope: 'admin',
      idempotent: true,
      operationId: 'rotateApiSecret',
      summary: 'Replace the API secret',
      description:
        'The new secret replaces the old one immediately, without an overlap. The hash of every notification that is sent from now on, retries included, uses the new secret. The signatures of webhooks do not change.',
      answer: {
        schema: v.object({ api_secret: ShownOnce }),
        description: 'The new API secret.',
        secret: 'api_secret',
      },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Use a key for all accounts.');
      return c.json({ api_secret: await rotateApiSecret(runtime, caller) });
    },
  );
