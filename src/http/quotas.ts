import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Runtime } from '../database/runtime.ts';
import { Problem, type ProblemName } from '../platform/problem.ts';
import type { RedisClient } from '../platform/redis.ts';
import { createMiddleware } from './app.ts';

const SECOND = 1_000;

/** Default length of a window. A quota allows `limit` uses per window. */
export const WINDOW_SECONDS = 10;

/** Milliseconds between two reports of a window to Redis. */
const REPORT_EVERY = 100;

/** How many windows a process keeps in memory. The count of a dropped window is still in Redis. */
const MAX_WINDOWS = 10_000;

/** The unused part of a name's limit. */
export interface Left {
  exhausted: boolean;
  remaining: number;
  /** Whole seconds until the window is over, at least 1. */
  seconds: number;
}

interface Quota {
  /** Counts one use. If nothing is left, it counts nothing and returns `exhausted`. */
  take(name: string): Left;
  /** Returns what is left, and counts nothing. */
  look(name: string): Left;
}

interface Window {
  /** Uses reported to Redis. Once Redis has answered, the uses of all processes. */
  counted: number;
  /** Uses counted here and not yet reported. */
  unreported: number;
  reporting: boolean;
  /** Milliseconds on the monotonic clock. */
  endsAt: number;
}

/**
 * Counts up to `limit` uses per name and window. All processes on one Redis share the windows. A process answers from its own count and
 * reports to Redis in the background: immediately after a pause, otherwise every 100 ms. So no request waits for Redis, even if Redis is
 * slow or unreachable. In return, each further process may let through the requests that it receives within these 100 ms. While Redis
 * is unreachable, each process uses its own count.
 */
export function createQuota({
  redis,
  prefix,
  limit,
  windowSeconds = WINDOW_SECONDS,
}: {
  redis: RedisClient;
  /** Prefix of the quota's keys in Redis. */
  prefix: string;
  limit: number;
  windowSeconds?: number;
}): Quota {
  const length = windowSeconds * SECOND;
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: prefix,
    points: limit,
    duration: windowSeconds,
  });
  const windows = new LRUCache<string, Window>({ max: MAX_WINDOWS });

  function open(name: string): Window {
    const window = { counted: 0, unreported: 0, reporting: false, endsAt: performance.now() + length };
    windows.set(name, window);
    return window;
  }

  function current(name: string): Window | undefined {
    const window = windows.get(name);
    return window === undefined || isOver(window) ? undefined : window;
  }

  const left = (window: Window | undefined): Left => {
    const remaining = Math.max(0, limit - (window === undefined ? 0 : window.counted + window.unreported));
    const milliseconds = window === undefined ? length : window.endsAt - performance.now();
    return { exhausted: remaining === 0, remaining, seconds: Math.max(1, Math.ceil(milliseconds / SECOND)) };
  };

  async function report(name: string, window: Window): Promise<void> {
    window.reporting = true;
    while (window.unreported > 0 && !isOver(window)) {
      const uses = window.unreported;
      window.counted += uses;
      window.unreported = 0;
      try {
        const { consumedPoints, msBeforeNext } = await shared.penalty(name, uses);
        if (msBeforeNext <= length) {
          window.counted = consumedPoints;
          window.endsAt = performance.now() + msBeforeNext;
        } else {
          // The clock of Redis was set back. Without this, the key would last until the clock has caught up.
          await shared.delete(name);
        }
      } catch {
        // Not reported again, because a command that timed out may still have run, and counting twice would refuse requests too early.
      }
      await sleep(REPORT_EVERY, undefined, { ref: false });
    }
    window.reporting = false;
  }

  return {
    take(name) {
      const window = current(name) ?? open(name);
      const before = left(window);
      if (before.exhausted) return before;
      window.unreported += 1;
      if (!window.reporting) void report(name, window);
      return { ...before, remaining: before.remaining - 1 };
    },
    look: (name) => left(current(name)),
  };
}

const isOver = ({ endsAt }: Window): boolean => performance.now() >= endsAt;

/** All API keys of a customer together may send this many times as much as one key. */
const KEYS_AT_FULL_RATE = 3;

/**
 * Limits the requests of each API key to RATE_LIMIT per second, averaged over 10 s and counted across all processes. All keys of a
 * customer together may send three times as many. Every answer to a known key has the headers `RateLimit-Policy` and `RateLimit` with
 * the limit of the key (draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4). Beyond a limit, the answer is a 429 with
 * `Retry-After` (RFC 6585, section 4). While Redis is unreachable, each process uses its own count.
 */
export function limitRate({ config, redis, prefix }: Pick<Runtime, 'config' | 'redis' | 'prefix'>) {
  const limit = config.rateLimit * WINDOW_SECONDS;
  const ofAllKeys = limit * KEYS_AT_FULL_RATE;
  const byKey = createQuota({ redis, prefix: `${prefix}:rate`, limit });
  const byCustomer = createQuota({ redis, prefix: `${prefix}:customer-rate`, limit: ofAllKeys });
  const policy = `"default";q=${limit};w=${WINDOW_SECONDS}`;
  return createMiddleware(async (c, next) => {
    const { apiKeyId, customerId } = c.get('caller');
    const left = byKey.take(apiKeyId);
    c.header('RateLimit-Policy', policy);
    c.header('RateLimit', `"default";r=${left.remaining};t=${left.seconds}`);
    if (left.exhausted) {
      const detail = `This API key may send ${limit} requests in ${WINDOW_SECONDS} s, and has sent them.`;
      throw tooManyRequests('rate-limited', left, detail);
    }
    const ofCustomer = byCustomer.take(customerId);
    if (ofCustomer.exhausted) {
      const detail = `All your API keys together may send ${ofAllKeys} requests in ${WINDOW_SECONDS} s, and have sent them.`;
      throw tooManyRequests('rate-limited', ofCustomer, detail);
    }
    await next();
  });
}

/** A 429 that names the seconds to wait in its detail and in `Retry-After`. */
export const tooManyRequests = (
  problem: Extract<ProblemName, 'rate-limited' | `too-many-${string}`>,
  { seconds }: Left,
  detail: string,
) =>
  new Problem(problem, `${detail} Try again in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  });
