/** Lateness up to this is a timer's, and is made up for; a longer pause is no credit for a burst. Milliseconds. */
const TIMER_LATENESS = 20;

/** Spaces the POSTs of one webhook evenly, so that no second holds more than its `rate_limit`. */
export interface Pace {
  /** Milliseconds until the next may go; 0: now. */
  wait(now: number): number;
  /** One goes now. */
  spend(now: number): void;
}

/**
 * @param perSecond null: no limit.
 * @param first when the first may go, on the same clock as `now`.
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
