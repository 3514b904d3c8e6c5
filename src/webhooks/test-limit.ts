import { createQuota } from '../http/quota.ts';
import { tooManyRequests } from '../http/rate-limit.ts';
import type { Runtime } from '../runtime.ts';

const MINUTE_IN_SECONDS = 60;

/** Test notifications that one customer may send in a minute, and that one host and port may get, from all customers. */
export const TESTS_PER_MINUTE = 10;

/**
 * Creates a function that counts a test notification. Without a limit, a customer could change the endpoint and send a test for
 * each port of a host, or send many tests to a host of somebody else. All processes count together, as far as Redis is reachable.
 */
export function limitTests({ redis, prefix }: Pick<Runtime, 'redis' | 'prefix'>) {
  const quota = (name: string) =>
    createQuota({
      redis,
      prefix: `${prefix}:tests:${name}`,
      limit: TESTS_PER_MINUTE,
      windowSeconds: MINUTE_IN_SECONDS,
    });
  const byCustomer = quota('customer');
  const byHost = quota('host');

  /** @throws {Problem} 429 when the customer or the host has had too many. */
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
