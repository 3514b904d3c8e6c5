import { LONGEST_OPENING } from './run/endpoint-health.ts';
import { longestDelay, RETRY_DELAYS } from './run/schedule.ts';

/**
 * Moments of the database, in SQL, that hold deliveries back. A moment further ahead than it can have been set was written before the
 * database's clock was set back, and does not count. Otherwise a clock that is set back by a day would stop deliveries for a day.
 */

const SECOND = 1_000;

/** Seconds that a moment may be further ahead than its limit. Slewed clocks and long statements take less. */
const TOLERANCE = 60;

const secondsOf = (milliseconds: number) => Math.ceil(milliseconds / SECOND) + TOLERANCE;

/** Until when the circuit of a webhook is open; NULL: it is not open. @param cursor alias of `webhook_cursors`. */
export const circuitOpenUntil = (cursor: string): string =>
  `IF(${cursor}.circuit_open_until > NOW(6)
    AND ${cursor}.circuit_open_until <= NOW(6) + INTERVAL ${secondsOf(LONGEST_OPENING)} SECOND, ${cursor}.circuit_open_until, NULL)`;

/** The longest waits after 1, 2, … failures, in seconds. A delivery that is sent again has none. */
const LONGEST_WAITS = RETRY_DELAYS.map((_, index) => secondsOf(longestDelay(index + 1)));

/** When a retry is due. NULL, a delivery that has failed for good, stays NULL. @param retry alias of `retries`. */
export const retryDueAt = (retry: string): string =>
  `IF(${retry}.due_at > NOW(6) + INTERVAL COALESCE(ELT(${retry}.failures, ${LONGEST_WAITS.join(', ')}), ${TOLERANCE}) SECOND,
    NOW(6), ${retry}.due_at)`;
