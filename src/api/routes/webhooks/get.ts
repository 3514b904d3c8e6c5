import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId } from '../../../http/input.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { viewWebhook, WebhookView } from '../../../webhooks/webhook-view.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** GET /v1/webhooks/:id */
export const getWebhookRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'read',
      operationId: 'getWebhook',
      summary: 'Get a webhook',
      path: { id: idParameter('webhook') },
      answer: { schema: v.object({ webhook: WebhookView }), description: 'The webhook, without its secret.' },
    },
    async (c) => {
      const webhook = await findWebhook(runtime.database, c.get('caller'), readId(c, 'webhook'));
      return c.json({ webhook: await viewWebhook(runtime, webhook) });
    },
  );
