import type { Outcome } from './outcome.ts';
import { MAX_RETRY_AFTER, withJitter } from './schedule.ts';

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

/** One 500 among many 200s says little of an endpoint; this many failures with no success between them say enough. */
const FAILURES_TO_PAUSE = 3;
const FIRST_PAUSE = 5 * SECOND;
const LONGEST_PAUSE = 600 * SECOND;

/** A webhook that has failed without a break for this long is disabled. */
const DISABLE_AFTER = 5 * DAY;

/** How an endpoint has been doing; kept in `pumps`, changed by each outcome. Times are in milliseconds since 1970. */
export interface Breaker {
  consecutiveFailures: number;
  /** When the failures without a success between them began. */
  failingSince: number | null;
  /** Pauses since the last success: each doubles the next. */
  pauses: number;
  pausedUntil: number | null;
  /** POSTs allowed in flight while the endpoint is new or coming back; null: as many as the webhook allows. */
  inFlightLimit: number | null;
  /** Successes since the limit was last raised. */
  successesAtLimit: number;
}

/**
 * What the endpoint's state is after one more outcome.
 *
 * Pauses are 5 s, 10 s, 20 s … 10 min (± 20 %), from the third failure in a row that tells of the endpoint, or as long as
 * it asked for. After a pause one probe is in flight; when it arrives 2, 4, 8 … up to the webhook's own limit. An endpoint
 * that has never answered begins with 2, so that hundreds which hang from the first day cost little. What was in flight
 * when the pause began, and fails too, does not lengthen it.
 */
export function afterOutcome(
  breaker: Breaker,
  outcome: Outcome,
  { now, random, maxInFlight }: { now: number; random: number; maxInFlight: number },
): Breaker {
  if (outcome.kind === 'delivered') return afterSuccess(breaker, now, maxInFlight);

  const failed = { ...breaker, failingSince: breaker.failingSince ?? now };
  if (outcome.kind === 'throttled') {
    const asked = Math.min(outcome.retryAfter ?? 0, MAX_RETRY_AFTER);
    return pause(failed, now, Math.max(asked, pauseAfter(failed.pauses, random)));
  }
  if (outcome.kind === 'refused' || (outcome.kind === 'failed' && outcome.tells === 'endpoint')) {
    failed.consecutiveFailures += 1;
    const probing = breaker.pauses > 0;
    if (probing || failed.consecutiveFailures >= FAILURES_TO_PAUSE) {
      return pause(failed, now, pauseAfter(failed.pauses, random));
    }
  }
  return failed;
}

/** Whether the endpoint has failed for so long that nobody seems to be there any more. */
export function shouldDisable({ failingSince }: Breaker, now: number): boolean {
  return failingSince !== null && now - failingSince >= DISABLE_AFTER;
}

function afterSuccess(breaker: Breaker, now: number, maxInFlight: number): Breaker {
  const { inFlightLimit, pausedUntil, failingSince, pauses } = breaker;
  // Of an endpoint that is well another success says nothing new.
  if (inFlightLimit === null && failingSince === null && pauses === 0) return breaker;
  // It was in flight when the pause began: it says that the endpoint lives, not how much it bears.
  if (pausedUntil !== null && pausedUntil > now) {
    return { ...breaker, consecutiveFailures: 0, failingSince: null };
  }
  const well = { ...breaker, consecutiveFailures: 0, failingSince: null, pauses: 0 };
  if (inFlightLimit === null) return well;
  const successes = breaker.successesAtLimit + 1;
  if (successes < inFlightLimit) return { ...well, successesAtLimit: successes };
  const raised = inFlightLimit * 2;
  return { ...well, inFlightLimit: raised >= maxInFlight ? null : raised, successesAtLimit: 0 };
}

function pauseAfter(pauses: number, random: number): number {
  return withJitter(Math.min(FIRST_PAUSE * 2 ** pauses, LONGEST_PAUSE), random);
}

function pause(breaker: Breaker, now: number, length: number): Breaker {
  if (breaker.pausedUntil !== null && breaker.pausedUntil > now) return breaker;
  return {
    ...breaker,
    pauses: breaker.pauses + 1,
    pausedUntil: now + length,
    inFlightLimit: 1,
    successesAtLimit: 0,
  };
}
