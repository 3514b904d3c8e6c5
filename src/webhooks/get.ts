import * as v from 'valibot';
import { createHandlers } from '../http/environment.ts';
import { readId } from '../http/input.ts';
import { describe } from '../http/openapi.ts';
import type { Runtime } from '../runtime.ts';
import { findWebhook } from './find.ts';
import { viewWebhook, WebhookView } from './view.ts';

/** GET /v1/webhooks/:id */
export const getWebhook = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Webhooks',
      summary: 'Look at a webhook',
      answer: { schema: v.object({ webhook: WebhookView }), description: 'The webhook, without its secret.' },
      problems: ['not-found'],
    }),
    async (c) => {
      const webhook = await findWebhook(database, c.get('caller'), readId(c, 'webhook'));
      return c.json({ webhook: viewWebhook(webhook) });
    },
  );
