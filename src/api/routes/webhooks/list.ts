import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readQuery } from '../../../http/input.ts';
import { cutPage, MAX_PER_PAGE, paging, pagingParameters } from '../../../http/paging.ts';
import { findWebhooks } from '../../../webhooks/find-webhook.ts';
import { viewWebhooks, WebhookView } from '../../../webhooks/webhook-view.ts';
import { createRoute } from '../route.ts';

const Query = v.strictObject(paging('w1', MAX_PER_PAGE));

/** GET /v1/webhooks */
export const listWebhooksRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'read',
      operationId: 'listWebhooks',
      summary: 'List your webhooks',
      description: 'Lists webhooks, the oldest first. If there is a next page, the header Link has its path.',
      query: pagingParameters('w1', MAX_PER_PAGE),
      answer: { schema: v.object({ webhooks: v.array(WebhookView) }), description: 'A page of webhooks.' },
    },
    async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const page = { after: cursor, limit: per_page + 1 };
      const found = await findWebhooks(runtime.database, c.get('caller'), page);
      return c.json({ webhooks: await viewWebhooks(runtime, cutPage(c, 'w1', found, per_page)) });
    },
  );
