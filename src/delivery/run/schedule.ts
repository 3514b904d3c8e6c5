import { MAX_RETRY_AFTER } from '../../webhook-record/circuit.ts';

/** How an attempt can end, and when a delivery is tried again. */

/**
 * How one attempt ended.
 * - delivered: a 2xx.
 * - failed: anything else. `cause` is 'endpoint' if other deliveries would fail too (the endpoint is down, has moved, or locks us out).
 *   It is 'body' if only this delivery fails.
 * - throttled: 429, or 503 with Retry-After. The endpoint is up, and asks us to come back later.
 * - gone: 410. The endpoint wants no more notifications.
 * - refused: the address guard did not allow the connection.
 */
export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'failed'; cause: 'endpoint' | 'body' }
  | { kind: 'throttled'; retryAfter: number | null }
  | { kind: 'gone' }
  | { kind: 'refused' };

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * How long to wait after each failed attempt: 12 attempts over about three days, so that a receiver that goes down on Friday
 * evening does not lose the weekend. Milliseconds.
 */
export const RETRY_DELAYS: readonly number[] = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
  22 * HOUR,
  24 * HOUR,
];

const JITTER = 0.2;

/** Spreads `delay` by ± 20 %, so that deliveries that failed together do not come back together. `random` is in [0, 1). */
export function withJitter(delay: number, random: number): number {
  return Math.round(delay * (1 - JITTER + 2 * JITTER * random));
}

/**
 * Milliseconds until a delivery that has failed `failures` times is due again; null when the schedule is over and the delivery has
 * failed for good.
 * @param retryAfter milliseconds that the receiver asked for, if any. Obeyed if longer than the schedule's wait, up to 1 h.
 */
export function retryDelay(
  failures: number,
  {
    retryAfter = 0,
    random,
    delays = RETRY_DELAYS,
  }: { retryAfter?: number; random: number; delays?: readonly number[] },
): number | null {
  const delay = delays[failures - 1];
  if (delay === undefined) return null;
  return Math.max(withJitter(delay, random), Math.min(retryAfter, MAX_RETRY_AFTER));
}

/** The longest delay that `retryDelay` gives after this many failures. Milliseconds. */
export const longestDelay = (failures: number): number =>
  Math.max((RETRY_DELAYS[failures - 1] ?? 0) * (1 + JITTER), MAX_RETRY_AFTER);
