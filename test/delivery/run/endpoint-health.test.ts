import { describe, expect, it } from 'vitest';
import { toOutcome } from '../../../src/delivery/run/attempt.ts';
import { afterOutcome, inFlightLimit, shouldDisable } from '../../../src/delivery/run/circuit-breaker.ts';
import type { Outcome } from '../../../src/delivery/run/schedule.ts';
import type { EndpointHealth } from '../../../src/delivery/run/types.ts';
import { healthy } from '../../support/endpoint-health.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const down: Outcome = { kind: 'failed', cause: 'endpoint' };
const badBody: Outcome = { kind: 'failed', cause: 'body' };
const delivered: Outcome = { kind: 'delivered' };

/** Applies outcomes one after the other, without jitter. */
const behave = (
  health: EndpointHealth,
  outcomes: readonly Outcome[],
  now = 0,
  maxInFlight = 16,
): EndpointHealth =>
  outcomes.reduce(
    (state, outcome) => afterOutcome(state, outcome, { now, random: 0.5, maxInFlight }),
    health,
  );

/** The outcomes of answers with these status codes. */
const answered = (...statuses: number[]): Outcome[] =>
  statuses.map((status) =>
    toOutcome(
      { status, retryAfter: undefined, body: '', error: null, refused: false, aborted: false, posts: 1 },
      0,
    ),
  );

describe('the circuit', () => {
  it('opens at the third endpoint failure in a row, and not before', () => {
    expect(behave(healthy, [down, down]).openUntil).toBeNull();
    expect(behave(healthy, [down, down, down])).toMatchObject({
      openUntil: 5 * SECOND,
      circuitOpenings: 1,
      recoverySuccesses: 0,
    });
  });

  it('opens when bodies are rejected thirty times without a success, and again at each rejection after that', () => {
    const rejected = behave(healthy, Array(29).fill(badBody));
    expect(rejected.openUntil).toBeNull();
    const open = behave(rejected, [badBody]);
    expect(open).toMatchObject({ openUntil: 5 * SECOND, circuitOpenings: 1, recoverySuccesses: 0 });
    expect(behave(open, [badBody], 6 * SECOND)).toMatchObject({
      openUntil: 16 * SECOND,
      circuitOpenings: 2,
    });
    const answers = Array.from({ length: 200 }, (_, at) => (at % 30 === 29 ? delivered : badBody));
    expect(behave(healthy, answers).openUntil).toBeNull();
  });

  it.each([401, 403, 404, 405, 301, 302, 307, 308])(
    'opens when the endpoint answers %i three times in a row, but not when a success comes in between',
    (status) => {
      expect(behave(healthy, answered(status, status)).openUntil).toBeNull();
      expect(behave(healthy, answered(status, status, status)).openUntil).toBe(5 * SECOND);
      expect(behave(healthy, answered(status, status, 200, status, status)).openUntil).toBeNull();
    },
  );

  it('stays open for as long as the endpoint asked, although POSTs in flight succeed', () => {
    const asked = behave(healthy, [{ kind: 'throttled', retryAfter: 60 * SECOND }]);
    expect(behave(asked, Array(15).fill(delivered))).toMatchObject({
      openUntil: 60 * SECOND,
      recoverySuccesses: 0,
      failingSince: null,
      failingDays: 0,
    });
  });

  it('opens at the first endpoint failure of an endpoint that has not succeeded yet', () => {
    const unproven = { ...healthy, recoverySuccesses: 0 };
    expect(behave(unproven, [down]).openUntil).toBe(5 * SECOND);
    expect(behave(unproven, [badBody]).openUntil).toBeNull();
    expect(behave(unproven, [delivered, down, down]).openUntil).toBeNull();
  });

  it('counts failures from zero after a success', () => {
    expect(behave(healthy, [down, down, delivered, down, down]).openUntil).toBeNull();
  });

  it('counts a refused address like an endpoint that is down', () => {
    expect(behave(healthy, Array(3).fill({ kind: 'refused' })).openUntil).toBe(5 * SECOND);
  });

  it('doubles the time it is open each time the probe fails, up to ten minutes', () => {
    let state = behave(healthy, [down, down, down]);
    const lengths = [];
    for (let i = 0; i < 9; i += 1) {
      const now = state.openUntil ?? 0;
      state = behave(state, [down], now);
      lengths.push(((state.openUntil ?? 0) - now) / SECOND);
    }
    expect(lengths).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
  });

  it('opens again when the probe fails after a Retry-After, although it is the first failure', () => {
    const asked = behave(healthy, [{ kind: 'throttled', retryAfter: 60 * SECOND }]);
    expect(behave(asked, [down], 60 * SECOND)).toMatchObject({
      circuitOpenings: 2,
      openUntil: 70 * SECOND,
    });
  });

  it('is not kept open for longer by POSTs that were in flight when it opened', () => {
    const open = behave(healthy, [down, down, down]);
    expect(behave(open, [down, down, down]).openUntil).toBe(open.openUntil);
  });

  it('lets one probe through when half-open, then 2, 4, 8, and then all POSTs', () => {
    let state: EndpointHealth = { ...healthy, recoverySuccesses: 0, circuitOpenings: 3 };
    const limits = [];
    for (let i = 0; i < 15; i += 1) {
      state = behave(state, [delivered]);
      limits.push(inFlightLimit(state, 16));
    }
    expect(limits).toEqual([2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 16]);
    expect(state).toEqual(healthy);
  });

  it('stays open for as long as a throttling endpoint asks, at most an hour, counted from its first answer', () => {
    const opened = (retryAfter: number | null) =>
      behave(healthy, [{ kind: 'throttled', retryAfter }]).openUntil;
    expect([60 * SECOND, DAY, null].map(opened)).toEqual([60 * SECOND, HOUR, 5 * SECOND]);
  });
});

describe('a webhook is disabled', () => {
  /** Fails at these moments. @returns the moment at which the webhook is to be disabled; null: at none of them. */
  function disabledAt(moments: readonly number[], outcome: Outcome = down): number | null {
    let state = healthy;
    for (const now of moments) {
      state = behave(state, [outcome], now);
      if (shouldDisable(state, now)) return now;
    }
    return null;
  }
  const daily = (days: number, start = 0) => Array.from({ length: days }, (_, day) => start + day * DAY);

  it.each([
    ['endpoint failures', down],
    ['failures of single bodies', badBody],
    ['refused addresses', { kind: 'refused' }],
    ['throttling', { kind: 'throttled', retryAfter: null }],
  ] as const)('after five days with failures on each of them: %s', (_, outcome) => {
    expect(disabledAt(daily(20, DAY), outcome)).toBe(6 * DAY);
  });

  it('only after five days, however many attempts failed', () => {
    const hourly = Array.from({ length: 5 * 24 }, (_, hour) => hour * HOUR);
    expect(disabledAt(hourly)).toBeNull();
    expect(disabledAt([...hourly, 5 * DAY - 1])).toBeNull();
    expect(disabledAt([...hourly, 5 * DAY])).toBe(5 * DAY);
  });

  it.each([
    ['one failure five days after another', [0, 5 * DAY]],
    ['one failure a month after another', [0, 30 * DAY]],
    ['a failure every fifth day', daily(20).map((day) => day * 5)],
    ['five days of which one had no attempt', [0, DAY, 2 * DAY, 4 * DAY, 5 * DAY]],
    ['a day without an attempt before the last', [0, DAY, 2 * DAY, 3 * DAY, 5.5 * DAY]],
  ])('but not by %s', (_, moments) => {
    expect(disabledAt(moments)).toBeNull();
  });

  it('five days after the last day without an attempt', () => {
    expect(disabledAt([0, DAY, ...daily(20, 10 * DAY)])).toBe(15 * DAY);
  });

  it('but not when one attempt of the five days succeeded', () => {
    const failing = behave(healthy, [badBody], DAY);
    const recovered = behave(failing, [delivered], 5 * DAY);
    expect(recovered).toMatchObject({ failingSince: null, failingDays: 0 });
    expect(shouldDisable(behave(recovered, [badBody], 6 * DAY), 6 * DAY)).toBe(false);
  });
});
