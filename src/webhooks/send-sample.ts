import * as v from 'valibot';
import type { AddressGuard } from '../delivering/posting/address-guard.ts';
import { createPoster } from '../delivering/posting/post.ts';
import { buildSample } from '../delivering/posting/sample.ts';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { notFound } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';
import { findWebhook } from './find.ts';

/** POST /v1/webhooks/:id/test */
export const sendSample = ({ database, secrets }: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      summary: 'Send a sample notification',
      description:
        'Sends one POST with made-up values and the header webhook-test: true, whatever the status of the webhook. It is not retried and not logged, and does not change the webhook. The response comes when the endpoint has answered, after 15 s at most.',
      path: { id: idParameter('webhook') },
      answer: {
        status: 202,
        schema: v.object({
          test: v.object({ status_code: v.nullable(v.number()), error: v.nullable(v.string()) }),
        }),
        description: 'What the endpoint answered, or why there was no answer.',
      },
      problems: ['not-found'],
    },
    async (c) => {
      const { id, event } = await findWebhook(database, c.get('caller'), readId(c, 'webhook'));
      const request = await buildSample(database, secrets, { webhookId: id, event, now: new Date() });
      if (request === null) throw notFound('webhook');
      // A poster for this POST alone: its connection is not used again.
      const poster = createPoster({ guard });
      try {
        const { status, error } = await poster.post(request);
        return c.json({ test: { status_code: status, error } }, 202);
      } finally {
        await poster.close();
      }
    },
  );
