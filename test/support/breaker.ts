import type { Breaker } from '../../src/delivering/breaker.ts';

/** Of an endpoint that has answered well so far. */
export const well: Breaker = {
  consecutiveFailures: 0,
  failingSince: null,
  pauses: 0,
  pausedUntil: null,
  inFlightLimit: null,
  successesAtLimit: 0,
};
