import type { EndpointHealth } from '../../src/delivery/run/types.ts';

/** The health of an endpoint that has always answered with 2xx. */
export const healthy: EndpointHealth = {
  consecutiveFailures: 0,
  failingSince: null,
  failingDays: 0,
  circuitOpenings: 0,
  openUntil: null,
  recoverySuccesses: null,
  consecutiveRejections: 0,
  batchLimit: null,
};
