import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readJson } from '../../../http/input.ts';
import type { AddressGuard } from '../../../platform/address-guard.ts';
import { NewWebhook } from '../../../webhooks/webhook-input.ts';
import { viewWebhook, WebhookView } from '../../../webhooks/webhook-view.ts';
import { createWebhook } from '../../../webhooks/webhooks.ts';
import { createRoute } from '../route.ts';

/** POST /v1/webhooks */
export const createWebhookRoute = (runtime: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      idempotent: true,
      operationId: 'createWebhook',
      summary: 'Create a webhook',
      description:
        'Every matching movement that is stored from now on is sent to the endpoint as a signed POST, and retried for about three days. With the event OPERATIONAL, the endpoint is sent operational events in place of movements: what fails at your webhooks, imports and sources. Its account must be all, and its encoding json. With the event BALANCE_UPDATED, the endpoint is sent newer closing balances of the account, in JSON. The secret is shown only in this answer.',
      body: { 'application/json': NewWebhook },
      answer: {
        schema: v.object({ webhook: WebhookView }),
        description: 'The webhook, with its secret.',
        secret: 'webhook.secret',
      },
      problems: ['limited-api-key', 'endpoint-refused', 'webhook-limit-reached'],
    },
    async (c) => {
      const body = await readJson(c, NewWebhook);
      const { webhook, secret } = await createWebhook(runtime, guard, c.get('caller'), body);
      return c.json({ webhook: await viewWebhook(runtime, webhook, secret) });
    },
  );
