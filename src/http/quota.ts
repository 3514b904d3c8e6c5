import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

const SECOND = 1_000;

/** Within this time a quota gives away its limit once. */
export const WINDOW_SECONDS = 10;
const WINDOW = WINDOW_SECONDS * SECOND;

/** How long a process keeps to itself what it has counted. */
const REPORT_EVERY = 100;

/** Names whose windows one process remembers at a time. What is forgotten of one is still in Redis. */
const MAX_WINDOWS = 10_000;

/** What a name has left of its limit. */
export interface Left {
  exhausted: boolean;
  remaining: number;
  /** Whole seconds until the window is over, at least 1. */
  seconds: number;
}

export interface Quota {
  /** Counts one, unless nothing is left: then `exhausted`. */
  take(name: string): Left;
  /** What is left, without counting. */
  look(name: string): Left;
}

interface Window {
  /** Told to Redis; once it has answered, by all processes together. */
  counted: number;
  /** Counted here and not yet told. */
  unreported: number;
  reporting: boolean;
  /** By the monotonic clock, in milliseconds. */
  endsAt: number;
}

/**
 * Counts up to `limit` per name in windows of 10 s that all processes on one Redis share. A process answers from its own
 * count and tells Redis in the background: at once what comes after a pause, and every 100 ms what comes densely. So nobody
 * ever waits for Redis, whether it is quick, slow or away; the price is that each further process may let through what it
 * gets within those 100 ms. While Redis is away each process goes on by its own count.
 */
export function createQuota({
  redis,
  prefix,
  limit,
}: {
  redis: Redis;
  /** What its keys in Redis start with. */
  prefix: string;
  limit: number;
}): Quota {
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: prefix,
    points: limit,
    duration: WINDOW_SECONDS,
  });
  const windows = new Map<string, Window>();

  function open(name: string): Window {
    const window = { counted: 0, unreported: 0, reporting: false, endsAt: performance.now() + WINDOW };
    windows.delete(name);
    windows.set(name, window);
    if (windows.size > MAX_WINDOWS) {
      const [oldest = name] = windows.keys();
      windows.delete(oldest);
    }
    return window;
  }

  function current(name: string): Window | undefined {
    const window = windows.get(name);
    return window === undefined || isOver(window) ? undefined : window;
  }

  const left = (window: Window | undefined): Left => {
    const remaining = Math.max(0, limit - (window === undefined ? 0 : window.counted + window.unreported));
    const milliseconds = window === undefined ? WINDOW : window.endsAt - performance.now();
    return { exhausted: remaining === 0, remaining, seconds: Math.max(1, Math.ceil(milliseconds / SECOND)) };
  };

  async function report(name: string, window: Window): Promise<void> {
    window.reporting = true;
    while (window.unreported > 0 && !isOver(window)) {
      const news = window.unreported;
      window.counted += news;
      window.unreported = 0;
      try {
        const { consumedPoints, msBeforeNext } = await shared.penalty(name, news);
        if (msBeforeNext <= WINDOW) {
          window.counted = consumedPoints;
          window.endsAt = performance.now() + msBeforeNext;
        } else {
          // The clock of Redis was set back, and its key would now last until it has caught up.
          await shared.delete(name);
        }
      } catch {
        // Not told again: a command that timed out may yet have been carried out, and twice would refuse too early.
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
