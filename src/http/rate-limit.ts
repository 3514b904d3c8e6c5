import type { Runtime } from '../runtime.ts';
import { createMiddleware } from './environment.ts';
import { Problem } from './problem.ts';
import type { ProblemName } from './problem-types.ts';
import { createQuota, type Left, WINDOW_SECONDS } from './quota.ts';

/**
 * Limits the requests of each API key to RATE_LIMIT per second, averaged over 10 s and counted across all processes. Every
 * answer to a known key carries `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4). Beyond the
 * limit it is a 429 with `Retry-After` (RFC 6585, section 4). While Redis is unreachable, each process uses its own count.
 */
export function limitRate({ config, redis, prefix }: Pick<Runtime, 'config' | 'redis' | 'prefix'>) {
  const limit = config.rateLimit * WINDOW_SECONDS;
  const quota = createQuota({ redis, prefix: `${prefix}:rate`, limit });
  const policy = `"default";q=${limit};w=${WINDOW_SECONDS}`;
  return createMiddleware(async (c, next) => {
    const left = quota.take(c.get('caller').apiKeyId);
    c.header('RateLimit-Policy', policy);
    c.header('RateLimit', `"default";r=${left.remaining};t=${left.seconds}`);
    if (left.exhausted) {
      throw tooManyRequests(
        'rate-limited',
        left,
        `This API key may send ${limit} requests in ${WINDOW_SECONDS} s, and has sent them.`,
      );
    }
    await next();
  });
}

/** 429 that names the seconds to wait, in its detail and in `Retry-After`. */
export const tooManyRequests = (
  problem: Extract<ProblemName, 'rate-limited' | `too-many-${string}`>,
  { seconds }: Left,
  detail: string,
) =>
  new Problem(problem, `${detail} Try again in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  });
