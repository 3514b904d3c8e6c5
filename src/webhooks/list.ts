import * as v from 'valibot';
import { createHandlers } from '../http/environment.ts';
import { describe } from '../http/openapi.ts';
import type { Runtime } from '../runtime.ts';
import { findWebhooks } from './find.ts';
import { viewWebhook, WebhookView } from './view.ts';

/** GET /v1/webhooks */
export const listWebhooks = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Webhooks',
      summary: 'List your webhooks',
      answer: {
        schema: v.object({ webhooks: v.array(WebhookView) }),
        description: 'All of them, the oldest first.',
      },
    }),
    async (c) => {
      const webhooks = await findWebhooks(database, c.get('caller'));
      return c.json({ webhooks: webhooks.map((webhook) => viewWebhook(webhook)) });
    },
  );
