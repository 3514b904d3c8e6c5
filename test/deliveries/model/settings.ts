import type { SealedSettings, Settings } from '../../../src/deliveries/settings.ts';

/** openSettings of settings.ts, without the secrets. */
export const toSettings = (row: SealedSettings): Settings => ({
  ordered: row.ordered === 1,
  maxInFlight: row.ordered === 1 ? 1 : row.max_in_flight,
  rateLimit: row.rate_limit,
  health: {
    consecutiveFailures: row.consecutive_failures,
    failingSince: row.failing_since?.getTime() ?? null,
    failingDays: row.failing_days,
    circuitOpenings: row.circuit_openings,
    openUntil: null,
    recoverySuccesses: row.recovery_successes,
  },
  redact: (text) => text,
  request: () => {
    throw new Error('the world sends nothing');
  },
});
