import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId } from '../../../http/input.ts';
import { viewWebhook, WebhookView } from '../../../webhooks/webhook-view.ts';
import { rotateWebhookSecret } from '../../../webhooks/webhooks.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** POST /v1/webhooks/:id/rotate-secret */
export const rotateWebhookSecretRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      idempotent: true,
      operationId: 'rotateWebhookSecret',
      summary: "Replace a webhook's secret",
      description:
        'For 24 hours, notifications have two signatures: one with the new secret and one with the previous one. If you replace the secret again within that time, the last two secrets sign.',
      path: { id: idParameter('webhook') },
      answer: {
        schema: v.object({ webhook: WebhookView }),
        description: 'The webhook, with its new secret, which is shown in this answer only.',
        secret: 'webhook.secret',
      },
    },
    async (c) => {
      const id = readId(c, 'webhook');
      const { webhook, secret } = await rotateWebhookSecret(runtime, c.get('caller'), id);
      return c.json({ webhook: await viewWebhook(runtime, webhook, secret) });
    },
  );
