import { afterOutcome, type Breaker, shouldDisable } from './breaker.ts';
import type { DueDelivery } from './due.ts';
import { judge } from './outcome.ts';
import type { Answer } from './post.ts';
import type { AttemptResult } from './results.ts';
import { retryDelay } from './schedule.ts';

/** What one answer changes: the delivery's row and log, the endpoint's state, and perhaps the webhook itself. */
export interface Settled {
  result: AttemptResult;
  breaker: Breaker;
  /** What went wrong, for people; null when it arrived. */
  fault: string | null;
  /** Why the webhook is to be disabled, or null. */
  disable: string | null;
}

/** Decides what follows from one attempt. Pure: time and chance come in. */
export function settle(
  delivery: Pick<DueDelivery, 'id' | 'attempts' | 'failures'>,
  answer: Answer,
  breakerBefore: Breaker,
  context: {
    startedAt: Date;
    durationMs: number;
    now: number;
    random: () => number;
    delays: readonly number[];
    maxInFlight: number;
    ordered: boolean;
  },
): Settled {
  const { startedAt, durationMs, now, random, delays, maxInFlight, ordered } = context;
  const outcome = judge(answer, startedAt.getTime() + durationMs);
  let breaker = afterOutcome(breakerBefore, outcome, { now, random: random(), maxInFlight });
  const delivered = outcome.kind === 'delivered';
  const failures = delivered ? delivery.failures : delivery.failures + 1;
  const retryAfter = outcome.kind === 'throttled' ? (outcome.retryAfter ?? 0) : 0;
  let retryIn: AttemptResult['retryIn'] = delivered
    ? null
    : retryDelay(failures, { retryAfter, random: random(), delays });
  if (ordered && typeof retryIn === 'number') {
    // Nothing may overtake it: the webhook waits as a whole, and the delivery stays first in its order.
    breaker = { ...breaker, pausedUntil: Math.max(breaker.pausedUntil ?? 0, now + retryIn) };
    retryIn = 'in order';
  }
  return {
    result: {
      deliveryId: delivery.id,
      number: delivery.attempts + 1,
      outcome: outcome.kind,
      statusCode: answer.status,
      startedAt,
      durationMs: Math.round(durationMs),
      error: answer.error,
      response: answer.body,
      failures,
      retryIn,
    },
    breaker,
    fault: delivered ? null : (answer.error ?? `answered ${answer.status}`),
    disable:
      outcome.kind === 'gone'
        ? 'The endpoint answered 410 Gone.'
        : shouldDisable(breaker, now)
          ? 'Every attempt of the last 5 days has failed.'
          : null,
  };
}
