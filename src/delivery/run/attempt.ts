import { parseRetryAfter } from '../../../packages/sdk/src/retry-after.ts';
import { MAX_RETRY_AFTER } from '../../webhook-record/circuit.ts';
import type { Answer } from '../posting/types.ts';
import { type Outcome, retryDelay, withJitter } from './schedule.ts';
import type { AttemptResult, Delivery, EndpointHealth, RunEvent } from './types.ts';

/** Decides what the answer to one POST means for the delivery, the endpoint and the webhook. */

export type AnsweredAttempt = Omit<Extract<RunEvent, { type: 'answered' }>, 'type'>;

/** The consequences of one attempt. */
interface AttemptEnd {
  result: AttemptResult;
  health: EndpointHealth;
  /** The error for people to read. null: no error. */
  lastError: string | null;
  /** Why the webhook is to be disabled; null: it is not. */
  disable: string | null;
}

/**
 * Turns an answer into the attempt's result and its consequences for the endpoint and the webhook.
 * @param health of the endpoint before this attempt.
 */
export function endAttempt(
  attempt: AnsweredAttempt,
  health: EndpointHealth,
  context: AttemptContext,
): AttemptEnd {
  const { answer, startedAt, durationMs } = attempt;
  const outcome = toOutcome(answer, startedAt + durationMs);
  // Named one by one, because a spread costs a noticeable part of a delivery's processor time.
  const { health: after, lastError, disable } = afterAnswer(outcome, answer, health, context);
  const result = toResult(attempt, outcome, { before: health, after }, context);
  return { health: after, lastError, disable, result };
}

/** Time, randomness and the settings of the webhook. */
export interface AttemptContext {
  now: number;
  random: () => number;
  maxInFlight: number;
  retryDelays: readonly number[];
}

/** Works out what the answer to one POST means for the endpoint and the webhook. */
export function afterAnswer(
  outcome: Outcome,
  answer: Answer,
  health: EndpointHealth,
  { now, random, maxInFlight }: AttemptContext,
): Omit<AttemptEnd, 'result'> {
  const healthAfter = afterOutcome(health, outcome, { now, random: random(), maxInFlight });
  return {
    health: healthAfter,
    lastError: outcome.kind === 'delivered' ? null : (answer.error ?? `answered ${answer.status}`),
    disable: reasonToDisable(outcome.kind === 'gone', healthAfter, now),
  };
}

/** The result of one delivery. @param health of the endpoint, before and after its POST. */
export function toResult(
  { delivery, answer, startedAt, durationMs, bytes }: AnsweredAttempt,
  outcome: Outcome,
  { before, after }: { before: EndpointHealth; after: EndpointHealth },
  { random, retryDelays }: Pick<AttemptContext, 'random' | 'retryDelays'>,
): AttemptResult {
  const delivered = outcome.kind === 'delivered';
  const failures = delivered ? delivery.failures : delivery.failures + 1;
  const retryAfter = outcome.kind === 'throttled' ? (outcome.retryAfter ?? 0) : 0;
  const retryIn = delivered
    ? null
    : retryDelay(failures, { retryAfter, random: random(), delays: retryDelays });
  return {
    subjectId: delivery.subjectId,
    source: delivery.source,
    number: delivery.attempts + 1,
    status: delivered ? 'delivered' : retryIn === null ? 'failed' : 'pending',
    outcome: outcome.kind,
    statusCode: answer.status,
    startedAt,
    durationMs: Math.round(durationMs),
    posts: answer.posts,
    storedAt: delivery.content === null ? null : Number(delivery.content.stored_at) / 1_000,
    error: answer.error,
    response: answer.shown ?? answer.body,
    batchFirst: null,
    failures,
    retryIn,
    logged: {
      bytes,
      traceId: answer.traceId,
      isFirstFailure: before.failingSince === null && after.failingSince !== null,
      circuit: changeOfCircuit(before, after),
    },
  };
}

function changeOfCircuit(before: EndpointHealth, after: EndpointHealth): 'opened' | 'closed' | undefined {
  if (after.circuitOpenings > before.circuitOpenings) return 'opened';
  return before.circuitOpenings > 0 && after.circuitOpenings === 0 ? 'closed' : undefined;
}

function reasonToDisable(isGone: boolean, health: EndpointHealth, now: number): string | null {
  if (isGone) return 'The endpoint answered 410 Gone.';
  return shouldDisable(health, now) ? 'Every attempt of the last 5 days has failed.' : null;
}

/** A delivery whose movement is gone can never be sent. It fails for good, because otherwise it would stay due forever. */
export const failedWithoutMovement = (delivery: Delivery, now: number): AttemptResult => ({
  subjectId: delivery.subjectId,
  source: delivery.source,
  number: delivery.attempts + 1,
  status: 'failed',
  outcome: 'failed',
  statusCode: null,
  startedAt: now,
  durationMs: 0,
  posts: 0,
  storedAt: null,
  error: 'The movement is not stored any more.',
  response: '',
  batchFirst: null,
  failures: delivery.failures + 1,
  retryIn: null,
  logged: { bytes: 0, traceId: undefined, isFirstFailure: false, circuit: undefined },
});

/** Client errors that concern the endpoint, not the body: the endpoint has moved or does not let us in. */
const LOCKED_OUT = new Set([401, 403, 404, 405]);

/** Decides what the answer to one POST means. `now` is milliseconds since 1970, for a Retry-After that is a date. */
export function toOutcome(answer: Answer, now: number): Outcome {
  if (answer.refused) return { kind: 'refused' };
  const { status } = answer;
  // Connection refused or reset, timeout, TLS, DNS, or no HTTP at all.
  if (status === null) return { kind: 'failed', cause: 'endpoint' };
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const retryAfter = parseRetryAfter(answer.retryAfter, now);
  if (status === 429 || (status === 503 && retryAfter !== null)) return { kind: 'throttled', retryAfter };
  const isOfEndpoint = status >= 500 || status === 408 || status < 400 || LOCKED_OUT.has(status);
  return { kind: 'failed', cause: isOfEndpoint ? 'endpoint' : 'body' };
}

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
