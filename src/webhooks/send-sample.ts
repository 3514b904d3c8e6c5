import * as v from 'valibot';
import type { AddressGuard } from '../addresses/address-guard.ts';
import { type Answer, createPoster } from '../delivering/posting/post.ts';
import { buildSample } from '../delivering/posting/sample.ts';
import { postTraced } from '../delivering/posting/traced-post.ts';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { notFound } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import { Count } from '../http/schemas.ts';
import type { Runtime } from '../runtime.ts';
import { findWebhook } from './find.ts';
import { limitTests, TESTS_PER_MINUTE } from './test-limit.ts';

const TestView = v.object({
  status_code: v.pipe(v.nullable(Count), v.description('The status that the endpoint answered with.')),
  error: v.pipe(
    v.nullable(v.picklist(['address not allowed', 'no answer', 'incomplete answer'])),
    v.description(
      'null: the answer is complete. "no answer": no connection, no TLS session, or no status within 15 seconds.',
    ),
  ),
});

/** Tells a subscriber what to correct, and no more: the reason of a failed connection would help to scan ports. */
function viewTest({ status, error, refused }: Answer): v.InferOutput<typeof TestView> {
  if (error === null) return { status_code: status, error };
  if (refused) return { status_code: null, error: 'address not allowed' };
  return { status_code: status, error: status === null ? 'no answer' : 'incomplete answer' };
}

/** POST /v1/webhooks/:id/test */
export const sendSample = (runtime: Runtime, guard: AddressGuard) => {
  const { database, secrets, tracing } = runtime;
  const countTest = limitTests(runtime);
  return createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      idempotent: true,
      summary: 'Send a test notification',
      description: `Sends one POST immediately, whatever the status of the webhook, with the header webhook-test: true and made-up values. It is not retried or logged, and does not change the webhook. You get the answer when the endpoint has answered, at most 15 seconds later. At most ${TESTS_PER_MINUTE} tests per minute are sent for a customer, and as many to the host and port of an endpoint.`,
      path: { id: idParameter('webhook') },
      answer: {
        status: 202,
        schema: v.object({ test: TestView }),
        description: 'What the endpoint answered.',
      },
      problems: ['too-many-tests'],
    },
    async (c) => {
      const caller = c.get('caller');
      const { id, event, endpoint } = await findWebhook(database, caller, readId(c, 'webhook'));
      countTest(caller.customerId, new URL(endpoint).host);
      const request = await buildSample(database, secrets, { webhookId: id, event, now: new Date() });
      if (request === null) throw notFound('webhook');
      // A poster for this POST alone: its connection is not used again.
      const poster = createPoster({ guard });
      try {
        const answer =
          tracing === undefined
            ? await poster.post(request)
            : await postTraced(tracing, poster, request, {
                parent: c.get('span')?.traceparent,
                attributes: { 'ledgerbell.webhook.id': Number(id) },
              });
        return c.json({ test: viewTest(answer) }, 202);
      } finally {
        await poster.close();
      }
    },
  );
};
