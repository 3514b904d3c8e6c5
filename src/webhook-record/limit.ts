/** What holds back the pending deliveries of an active webhook whose endpoint answers. Pure. */

/**
 * - `retry`: it is ordered, and an event waits for its next attempt.
 * - `processes`: it waits for its turn in a delivery process.
 * - `rate_limit`, `ordered`, `max_in_flight`: its settings.
 * - `recovering`: its endpoint is new or has just recovered, and is sent few at a time.
 */
export const LIMITS = ['rate_limit', 'max_in_flight', 'ordered', 'retry', 'recovering', 'processes'] as const;
export type Limit = (typeof LIMITS)[number];

/** The part of a webhook's state that its limit follows from. Milliseconds. */
export interface Limited {
  settings: { ordered: number; rate_limit: number | null; recovery_successes: number | null };
  /** Until the lease of a delivery run ends; null: no run has it. */
  leasedFor: number | null;
  /** Until the next retry is due; of an ordered webhook, the retry that all others wait for. null: none. */
  retryIn: number | null;
  /** Until its circuit is half-open; null: it is not open. */
  openFor: number | null;
}

/** A webhook of which nothing was sent for this long waits for a delivery process. Between two runs is less than that. Milliseconds. */
const WAITS_AFTER = 30_000;

/** What limits a webhook while a delivery run sends for it. */
export function paceLimitOf({ rate_limit, ordered, recovery_successes }: Limited['settings']) {
  if (rate_limit !== null) return 'rate_limit';
  if (ordered === 1) return 'ordered';
  return recovery_successes === null ? 'max_in_flight' : 'recovering';
}

/** @param idleFor milliseconds since its last delivery. */
export function limitOf({ settings, leasedFor, retryIn, openFor }: Limited, idleFor: number): Limit {
  if (settings.ordered === 1 && retryIn !== null && retryIn > 0) return 'retry';
  // While its circuit is open, no process could send for it.
  if (leasedFor === null && openFor === null && idleFor > WAITS_AFTER) return 'processes';
  return paceLimitOf(settings);
}
