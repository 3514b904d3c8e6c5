import * as v from 'valibot';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';
import { findWebhook } from './find.ts';
import { viewWebhook, WebhookView } from './view.ts';

/** GET /v1/webhooks/:id */
export const getWebhook = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'read',
      summary: 'Get a webhook',
      path: { id: idParameter('webhook') },
      answer: { schema: v.object({ webhook: WebhookView }), description: 'The webhook, without its secret.' },
    },
    async (c) => {
      const webhook = await findWebhook(runtime.database, c.get('caller'), readId(c, 'webhook'));
      return c.json({ webhook: await viewWebhook(runtime, webhook) });
    },
  );
