import * as v from 'valibot';
import { readApiSecret, rotateApiSecret } from '../../customers/customers.ts';
import type { Runtime } from '../../database/runtime.ts';
import { ShownOnce } from '../../platform/validation.ts';
import type { AddRoute } from './route.ts';

const ApiSettings = v.object({ api_secret: v.string() });

/** Adds the routes of the settings: the API secret. */
export function addSettingsRoutes(route: AddRoute, runtime: Runtime): void {
  route('GET /v1/settings/api', {
    tag: 'Settings',
    scope: 'admin',
    wholeKey: 'Use a key for all accounts.',
    operationId: 'getApiSecret',
    summary: 'Get the API secret',
    description: 'The API secret is part of the hash in every notification.',
    answer: { schema: ApiSettings, description: 'The API secret.', secrets: ['api_secret'] },
    handle: async (c) => {
      const caller = c.get('caller');
      return c.json({ api_secret: await readApiSecret(runtime, caller.customerId) });
    },
  });

  route('POST /v1/settings/api/rotate', {
    tag: 'Settings',
    scope: 'admin',
    wholeKey: 'Use a key for all accounts.',
    idempotent: true,
    operationId: 'rotateApiSecret',
    summary: 'Replace the API secret',
    description:
      'The new secret replaces the old one immediately, without an overlap. The hash of every notification that is sent from now on, retries included, uses the new secret. The signatures of webhooks do not change.',
    answer: {
      schema: v.object({ api_secret: ShownOnce }),
      description: 'The new API secret.',
      secrets: ['api_secret'],
    },
    handle: async (c) => {
      const caller = c.get('caller');
      return c.json({ api_secret: await rotateApiSecret(runtime, caller) });
    },
  });
}
