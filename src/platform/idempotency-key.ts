/** What an Idempotency-Key may be, and how long it counts. */

/** Printable ASCII without a space at either end, because HTTP does not transmit such spaces. */
export const IDEMPOTENCY_KEY = /^[!-~](?:[ -~]{0,253}[!-~])?$/;

/** How long a key counts, in hours. After that it can be used again. */
export const KEY_HOURS = 24;
