import type { Answer } from '../posting/post.ts';
import { afterOutcome, type EndpointHealth, shouldDisable } from './endpoint-health.ts';
import { type Outcome, parseRetryAfter, retryDelay } from './schedule.ts';
import type { AttemptResult, Delivery, RunEvent } from './types.ts';

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
  { delivery, answer, startedAt, durationMs }: AnsweredAttempt,
  health: EndpointHealth,
  context: { now: number; random: () => number; maxInFlight: number; retryDelays: readonly number[] },
): AttemptEnd {
  const { now, random, maxInFlight, retryDelays } = context;
  const outcome = toOutcome(answer, startedAt + durationMs);
  const delivered = outcome.kind === 'delivered';
  const failures = delivered ? delivery.failures : delivery.failures + 1;
  const retryAfter = outcome.kind === 'throttled' ? (outcome.retryAfter ?? 0) : 0;
  const healthAfter = afterOutcome(health, outcome, { now, random: random(), maxInFlight });
  const retryIn = delivered
    ? null
    : retryDelay(failures, { retryAfter, random: random(), delays: retryDelays });
  return {
    health: healthAfter,
    lastError: delivered ? null : (answer.error ?? `answered ${answer.status}`),
    disable: reasonToDisable(outcome.kind === 'gone', healthAfter, now),
    result: {
      transactionId: delivery.transactionId,
      source: delivery.source,
      number: delivery.attempts + 1,
      status: delivered ? 'delivered' : retryIn === null ? 'failed' : 'pending',
      outcome: outcome.kind,
      statusCode: answer.status,
      startedAt,
      durationMs: Math.round(durationMs),
      storedAt: delivery.movement === null ? null : Number(delivery.movement.stored_at) / 1_000,
      error: answer.error,
      response: answer.body,
      failures,
      retryIn,
    },
  };
}

function reasonToDisable(isGone: boolean, health: EndpointHealth, now: number): string | null {
  if (isGone) return 'The endpoint answered 410 Gone.';
  return shouldDisable(health, now) ? 'Every attempt of the last 5 days has failed.' : null;
}

/** A delivery whose movement is gone can never be sent. It fails for good, because otherwise it would stay due forever. */
export const failedWithoutMovement = (delivery: Delivery, now: number): AttemptResult => ({
  transactionId: delivery.transactionId,
  source: delivery.source,
  number: delivery.attempts + 1,
  status: 'failed',
  outcome: 'failed',
  statusCode: null,
  startedAt: now,
  durationMs: 0,
  storedAt: null,
  error: 'The movement is not stored any more.',
  response: '',
  failures: delivery.failures + 1,
  retryIn: null,
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
