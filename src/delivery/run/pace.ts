/** Spaces the POSTs of one webhook evenly, so that no second holds more than its `rate_limit`. */

/** When the POSTs of one webhook may go. */
export interface Pace {
  /** Milliseconds until the next POST may go; 0: now. */
  wait(now: number): number;
  /** A POST goes now. */
  spend(now: number): void;
}

/** A delay up to this comes from a late timer and is made up for. After a longer pause, no burst is allowed. Milliseconds. */
export const TIMER_LATENESS = 20;

/**
 * @param perSecond null: no limit.
 * @param first when the first POST may go, on the same clock as `now`.
 */
export function createPace(perSecond: number | null, first: number): Pace {
  if (perSecond === null) return { wait: () => 0, spend: () => {} };
  const interval = 1_000 / perSecond;
  let next = first;
  return {
    wait: (now) => Math.max(0, next - now),
    spend(now) {
      next = (now - next < TIMER_LATENESS ? next : now) + interval;
    },
  };
}
