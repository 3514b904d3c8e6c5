import { parseRetryAfter } from '../../../packages/sdk/src/retry-after.ts';
import type { Answer } from '../posting/types.ts';
import { afterOutcome, shouldDisable } from './circuit-breaker.ts';
import { type Outcome, retryDelay } from './schedule.ts';
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

const MOVEMENT_WITHDRAWN = 'The movement was withdrawn.';

/** The error of a delivery whose movement was withdrawn during its POST. @param result of the POST. */
export const withdrawnWhileSent = ({ error, statusCode }: AttemptResult): string =>
  `${MOVEMENT_WITHDRAWN} Its POST under way failed too: ${error ?? `answered ${statusCode}`}`;

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
  error: delivery.isWithdrawn ? MOVEMENT_WITHDRAWN : 'The movement is not stored any more.',
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
