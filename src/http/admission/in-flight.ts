import type { Context } from 'hono';
import { Problem } from '../../platform/problem.ts';
import { type ApiEnv, createMiddleware } from '../app.ts';

/** How many requests a process works on at a time, in all and of one customer. The lower limit leaves room for other customers. */
export const MOST_IN_FLIGHT = 1_000;
export const MOST_OF_CUSTOMER = 500;

/**
 * Limits how many requests with the same name a process works on at a time. While MySQL is slow, each request takes up to 30 s, and
 * waiting requests would fill the memory. Beyond the limit, the answer is immediately 503 with `Retry-After`.
 * @param nameOf requests with the same name are counted together.
 */
export function limitInFlight(most: number, nameOf: (c: Context<ApiEnv>) => string) {
  const inFlight = new Map<string, number>();
  return createMiddleware(async (c, next) => {
    const name = nameOf(c);
    const before = inFlight.get(name) ?? 0;
    if (before >= most) {
      const detail = 'The service is working on as many requests as it can. Send this one again later.';
      throw new Problem('busy', detail, { headers: { 'Retry-After': '1' } });
    }
    inFlight.set(name, before + 1);
    try {
      await next();
    } finally {
      const left = (inFlight.get(name) ?? 1) - 1;
      if (left === 0) inFlight.delete(name);
      else inFlight.set(name, left);
    }
  });
}
