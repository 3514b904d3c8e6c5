import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId } from '../../../http/input.ts';
import { deleteWebhook } from '../../../webhooks/webhooks.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** DELETE /v1/webhooks/:id */
export const deleteWebhookRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook',
      description:
        'Nothing more is sent to the webhook, and its pending deliveries become cancelled. The log of its deliveries is kept as long as that of other webhooks.',
      path: { id: idParameter('webhook') },
      answer: { schema: v.object({ status: v.literal('success') }), description: 'The webhook is deleted.' },
    },
    async (c) => {
      await deleteWebhook(runtime, c.get('caller'), readId(c, 'webhook'));
      return c.json({ status: 'success' });
    },
  );
