/** The state of an endpoint's circuit, in SQL, because MySQL's clock decides when the circuit is half-open. */

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** The longest wait that a receiver may ask for, and so the longest that a circuit is open. After a longer wait, a delivery would be as good as lost. */
export const MAX_RETRY_AFTER = HOUR;

/** Seconds that a moment may be further ahead than its limit. Slewed clocks and long statements take less. */
export const TOLERANCE = 60;

/**
 * The most seconds that a moment which is up to so many milliseconds ahead can really be ahead. A moment further ahead was written before
 * the database's clock was set back, and does not count. Otherwise a clock that is set back by a day would stop deliveries for a day.
 */
export const secondsOf = (milliseconds: number): number => Math.ceil(milliseconds / SECOND) + TOLERANCE;

/**
 * Until when the circuit of a webhook is open; NULL: it is not open.
 * @param cursor alias of `webhook_cursors`, here and below: the row of the webhook that has the settings.
 */
export const circuitOpenUntil = (cursor: string): string =>
  `IF(${cursor}.circuit_open_until > NOW(6)
    AND ${cursor}.circuit_open_until <= NOW(6) + INTERVAL ${secondsOf(MAX_RETRY_AFTER)} SECOND, ${cursor}.circuit_open_until, NULL)`;

/** For how long a webhook of a template has the right to probe the endpoint for all of them. Seconds. A POST takes at most 15. */
export const PROBE_SECONDS = 30;

/**
 * Until when another webhook of the same template probes the half-open circuit; NULL: none does. All others wait.
 * @param webhook alias of `webhooks`.
 */
export const probedUntil = (webhook: string, cursor: string): string =>
  `IF(${cursor}.recovery_successes = 0 AND ${cursor}.probe_by <> ${webhook}.id AND ${cursor}.probe_until > NOW(6)
    AND ${cursor}.probe_until <= NOW(6) + INTERVAL ${PROBE_SECONDS + 1} SECOND, ${cursor}.probe_until, NULL)`;

/**
 * `open`: nothing is sent. `half_open`: it was open, and one POST probes the endpoint. `closed`: anything else, also a new webhook that
 * begins with few POSTs at a time.
 */
export const CIRCUITS = ['closed', 'half_open', 'open'] as const;
export type Circuit = (typeof CIRCUITS)[number];

/** The state of a webhook's circuit. */
export const circuitOf = (cursor: string): string =>
  `IF(${circuitOpenUntil(cursor)} IS NOT NULL, 'open', IF(${cursor}.circuit_openings > 0, 'half_open', 'closed'))`;
