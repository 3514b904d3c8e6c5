import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { sendTestNotification, TestView } from '../../../delivery/requests.ts';
import { readId } from '../../../http/input.ts';
import { createQuota, tooManyRequests } from '../../../http/quotas.ts';
import type { AddressGuard } from '../../../platform/address-guard.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

/** POST /v1/webhooks/:id/test */
export const sendTestNotificationRoute = (runtime: Runtime, guard: AddressGuard) => {
  const countTest = limitTests(runtime);
  return createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      idempotent: true,
      operationId: 'testWebhook',
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
      const webhook = await findWebhook(runtime.database, caller, readId(c, 'webhook'));
      countTest(caller.customerId, new URL(webhook.endpoint).host);
      const isOperator = caller.operator !== undefined;
      const { traceparent } = c.get('span') ?? {};
      const test = await sendTestNotification(runtime, guard, webhook, { isOperator, traceparent });
      return c.json({ test }, 202);
    },
  );
};

const MINUTE_IN_SECONDS = 60;

/** How many test notifications one customer may send in a minute, and how many one host and port may get from all customers. */
export const TESTS_PER_MINUTE = 10;

/**
 * Creates a function that counts a test notification. Without a limit, a customer could change the endpoint and send a test to each
 * port of a host, or send many tests to somebody else's host. All processes share the count while Redis is reachable.
 */
function limitTests({ redis, prefix }: Pick<Runtime, 'redis' | 'prefix'>) {
  const quota = (name: string) =>
    createQuota({
      redis,
      prefix: `${prefix}:tests:${name}`,
      limit: TESTS_PER_MINUTE,
      windowSeconds: MINUTE_IN_SECONDS,
    });
  const byCustomer = quota('customer');
  const byHost = quota('host');

  /** @throws {Problem} 429 when the customer or the host has had too many tests. */
  return function countTest(customerId: string, host: string): void {
    const ofCustomer = byCustomer.take(customerId);
    if (ofCustomer.exhausted) {
      const detail = `Your webhooks may send ${TESTS_PER_MINUTE} test notifications per minute, and have sent them.`;
      throw tooManyRequests('too-many-tests', ofCustomer, detail);
    }
    const ofHost = byHost.take(host);
    if (ofHost.exhausted) {
      const detail = `This endpoint may get ${TESTS_PER_MINUTE} test notifications per minute, and has had them.`;
      throw tooManyRequests('too-many-tests', ofHost, detail);
    }
  };
}
