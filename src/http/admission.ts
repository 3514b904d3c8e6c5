import type { MiddlewareHandler } from 'hono';
import type { Runtime } from '../database/runtime.ts';
import { limitInFlight, MOST_IN_FLIGHT, MOST_OF_CUSTOMER } from './admission/in-flight.ts';
import { traceRequests } from './admission/trace-requests.ts';
import type { ApiEnv } from './app.ts';
import { authenticate, type CallerCache } from './authentication.ts';
import { createCarryOutOnce } from './idempotency.ts';
import { limitRate } from './quotas.ts';

/**
 * A request passes these before its route, in this order: the limit of requests in flight, authentication, the limit of its customer's
 * requests in flight, its span, and the rate limit. The route itself carries out a POST with an Idempotency-Key once.
 * @param options.identify sets the caller of a request. By default, an API key is required.
 */
export function admit(
  runtime: Runtime,
  { callers, identify }: { callers: CallerCache; identify: MiddlewareHandler<ApiEnv> | undefined },
): MiddlewareHandler<ApiEnv>[] {
  const carryOutOnce = createCarryOutOnce(runtime);
  return [
    limitInFlight(MOST_IN_FLIGHT, () => 'all'),
    identify ?? authenticate(runtime, callers),
    limitInFlight(MOST_OF_CUSTOMER, (c) => c.get('caller').customerId),
    ...(runtime.tracing === undefined ? [] : [traceRequests(runtime.tracing)]),
    ...(runtime.config.rateLimit > 0 ? [limitRate(runtime)] : []),
    (c, next) => {
      c.set('carryOutOnce', carryOutOnce);
      return next();
    },
  ];
}
