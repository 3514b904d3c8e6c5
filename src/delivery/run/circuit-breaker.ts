import { MAX_RETRY_AFTER } from '../../webhook-record/circuit.ts';
import { type Outcome, withJitter } from './schedule.ts';
import type { EndpointHealth } from './types.ts';

/** The circuit breaker. Decides when an endpoint gets no POSTs, how many it gets while it recovers, and when its webhook is disabled. */

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

/** The circuit opens after this many endpoint failures without a success between them. One 500 among many 200s says little. */
export const FAILURES_TO_OPEN = 3;
const FIRST_OPENING = 5 * SECOND;
const LONGEST_PAUSE = 600 * SECOND;

/** If an endpoint rejects this many bodies in a row, the endpoint is at fault, not the bodies. */
const REJECTIONS_TO_OPEN = 30;

/** A webhook is disabled when all its attempts have failed for this many days, with at least one attempt on each of them. */
export const DISABLE_AFTER_DAYS = 5;

/**
 * The health of an endpoint after one more outcome.
 *
 * The circuit opens at the third endpoint failure in a row, for 5 s, 10 s, 20 s … 10 min (± 20 %). A throttled attempt opens it
 * immediately, for at least as long as the endpoint asks, up to 1 h. While the circuit is half-open, one probe is in flight. If the probe
 * fails, the circuit opens again. If it succeeds, more POSTs follow, see `inFlightLimit`. A new endpoint begins half-open, so that
 * hundreds of endpoints that never answer cost little. Failures of POSTs that were in flight when the circuit opened do not keep it open
 * for longer.
 *
 * An answer that rejects the body concerns only this delivery. But from the 30th rejection in a row, each rejection counts as an endpoint
 * failure that opens the circuit. Otherwise, an endpoint that answers 400 to everything would get each movement twelve times.
 */
export function afterOutcome(
  health: EndpointHealth,
  outcome: Outcome,
  { now, random, maxInFlight }: { now: number; random: number; maxInFlight: number },
): EndpointHealth {
  if (outcome.kind === 'delivered') return afterSuccess(health, now, maxInFlight);

  const failed = { ...health, ...countFailingDay(health, now) };
  if (outcome.kind === 'throttled') {
    const asked = Math.min(outcome.retryAfter ?? 0, MAX_RETRY_AFTER);
    return open(failed, now, Math.max(asked, openingAfter(failed.circuitOpenings, random)));
  }
  if (outcome.kind === 'refused' || (outcome.kind === 'failed' && outcome.cause === 'endpoint')) {
    failed.consecutiveFailures += 1;
    const isProbe = health.recoverySuccesses === 0;
    if (isProbe || failed.consecutiveFailures >= FAILURES_TO_OPEN) {
      return open(failed, now, openingAfter(failed.circuitOpenings, random));
    }
  }
  if (outcome.kind === 'failed' && outcome.cause === 'body') {
    failed.consecutiveRejections += 1;
    if (failed.consecutiveRejections >= REJECTIONS_TO_OPEN)
      return open(failed, now, openingAfter(failed.circuitOpenings, random));
  }
  return failed;
}

/** How many POSTs may be in flight: one at first. When as many POSTs as the limit have succeeded, it doubles, up to the webhook's limit. */
export const inFlightLimit = ({ recoverySuccesses }: EndpointHealth, maxInFlight: number): number =>
  recoverySuccesses === null
    ? maxInFlight
    : Math.min(maxInFlight, 2 ** Math.floor(Math.log2(recoverySuccesses + 1)));

/** Says whether every attempt of the last five days has failed, with at least one attempt on each day. */
export function shouldDisable({ failingSince, failingDays }: EndpointHealth, now: number): boolean {
  return (
    failingSince !== null &&
    now - failingSince >= DISABLE_AFTER_DAYS * DAY &&
    failingDays > DISABLE_AFTER_DAYS
  );
}

/** A day without an attempt says nothing about the endpoint, so the count begins again. */
function countFailingDay({ failingSince, failingDays }: EndpointHealth, now: number) {
  const day = failingSince === null ? null : Math.floor((now - failingSince) / DAY);
  if (day === null || day > failingDays) return { failingSince: now, failingDays: 1 };
  return { failingSince, failingDays: Math.max(failingDays, day + 1) };
}

function afterSuccess(health: EndpointHealth, now: number, maxInFlight: number): EndpointHealth {
  const { recoverySuccesses, openUntil, failingSince, circuitOpenings } = health;
  if (recoverySuccesses === null && failingSince === null && circuitOpenings === 0) return health;
  const succeeded = {
    ...health,
    consecutiveFailures: 0,
    consecutiveRejections: 0,
    failingSince: null,
    failingDays: 0,
  };
  // The POST was in flight when the circuit opened. It shows that the endpoint is up, but not how much load it can take.
  if (openUntil !== null && openUntil > now) return succeeded;
  const closing = { ...succeeded, circuitOpenings: 0, openUntil: null };
  if (recoverySuccesses === null) return closing;
  const recovering = { ...closing, recoverySuccesses: recoverySuccesses + 1 };
  return inFlightLimit(recovering, maxInFlight) < maxInFlight
    ? recovering
    : { ...closing, recoverySuccesses: null };
}

function openingAfter(openings: number, random: number): number {
  return withJitter(Math.min(FIRST_OPENING * 2 ** openings, LONGEST_PAUSE), random);
}

function open(health: EndpointHealth, now: number, length: number): EndpointHealth {
  if (health.openUntil !== null && health.openUntil > now) return health;
  return {
    ...health,
    circuitOpenings: health.circuitOpenings + 1,
    openUntil: now + length,
    recoverySuccesses: 0,
  };
}
