import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readJson } from '../../../http/input.ts';
import type { AddressGuard } from '../../../platform/address-guard.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { WebhookChange } from '../../../webhooks/webhook-input.ts';
import { viewWebhook, WebhookView } from '../../../webhooks/webhook-view.ts';
import { changeWebhook } from '../../../webhooks/webhooks.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** PATCH /v1/webhooks/:id */
export const changeWebhookRoute = (runtime: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      operationId: 'updateWebhook',
      summary: 'Change a webhook, pause it, or activate it',
      description:
        'Changes any field of the webhook, or its status. A paused webhook keeps matching movements, which are pending until it is active again. Set status to active to enable a disabled webhook. A status of active, a new endpoint and new headers also reset the health of the endpoint. Pending deliveries are sent with the new settings. A new event or account applies to movements that are stored from now on. The event cannot be changed to or from OPERATIONAL or BALANCE_UPDATED, nor the account of a webhook with the event BALANCE_UPDATED.',
      body: { 'application/json': WebhookChange },
      path: { id: idParameter('webhook') },
      answer: { schema: v.object({ webhook: WebhookView }), description: 'The webhook, without its secret.' },
      problems: ['limited-api-key', 'pending-for-other-accounts', 'endpoint-refused'],
    },
    async (c) => {
      const caller = c.get('caller');
      const before = await findWebhook(runtime.database, caller, readId(c, 'webhook'));
      const change = await readJson(c, WebhookChange);
      const webhook = await changeWebhook(runtime, guard, caller, before, change);
      return c.json({ webhook: await viewWebhook(runtime, webhook) });
    },
  );
