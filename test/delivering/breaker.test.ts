import { describe, expect, it } from 'vitest';
import { afterOutcome, type Breaker, shouldDisable } from '../../src/delivering/breaker.ts';
import type { Outcome } from '../../src/delivering/outcome.ts';
import { well } from '../support/breaker.ts';

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
const down: Outcome = { kind: 'failed', tells: 'endpoint' };
const badBody: Outcome = { kind: 'failed', tells: 'body' };
const delivered: Outcome = { kind: 'delivered' };

/** Applies outcomes one after the other, without jitter. */
const behave = (breaker: Breaker, outcomes: Outcome[], now = 0, maxInFlight = 16): Breaker =>
  outcomes.reduce(
    (state, outcome) => afterOutcome(state, outcome, { now, random: 0.5, maxInFlight }),
    breaker,
  );

describe('the breaker', () => {
  it('pauses at the third failure in a row that tells of the endpoint, not before', () => {
    expect(behave(well, [down, down]).pausedUntil).toBeNull();
    expect(behave(well, [down, down, down])).toMatchObject({
      pausedUntil: 5 * SECOND,
      pauses: 1,
      inFlightLimit: 1,
    });
  });

  it('begins with one after a pause, although what was in flight when it began arrives', () => {
    const asked = behave(well, [{ kind: 'throttled', retryAfter: 60 * SECOND }]);
    expect(behave(asked, Array(15).fill(delivered))).toMatchObject({
      pausedUntil: 60 * SECOND,
      inFlightLimit: 1,
      failingSince: null,
    });
  });

  it('starts counting anew after a success', () => {
    expect(behave(well, [down, down, delivered, down, down]).pausedUntil).toBeNull();
  });

  it('never pauses for what tells of one body only', () => {
    expect(behave(well, Array(50).fill(badBody)).pausedUntil).toBeNull();
  });

  it('counts an address that is refused like an endpoint that is down', () => {
    expect(behave(well, Array(3).fill({ kind: 'refused' })).pausedUntil).toBe(5 * SECOND);
  });

  it('doubles the pause each time the probe fails, up to ten minutes', () => {
    let state = behave(well, [down, down, down]);
    const lengths = [];
    for (let i = 0; i < 9; i += 1) {
      const now = state.pausedUntil ?? 0;
      state = behave(state, [down], now);
      lengths.push(((state.pausedUntil ?? 0) - now) / SECOND);
    }
    expect(lengths).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
  });

  it('pauses again when the probe after a pause that was asked for fails, although it is the first failure', () => {
    const asked = behave(well, [{ kind: 'throttled', retryAfter: 60 * SECOND }]);
    expect(behave(asked, [down], 60 * SECOND)).toMatchObject({ pauses: 2, pausedUntil: 70 * SECOND });
  });

  it('is not prolonged by what was in flight when the pause began', () => {
    const paused = behave(well, [down, down, down]);
    expect(behave(paused, [down, down, down]).pausedUntil).toBe(paused.pausedUntil);
  });

  it('lets one probe go after a pause, then 2, 4, 8, and then all', () => {
    let state: Breaker = { ...well, inFlightLimit: 1, pauses: 3 };
    const limits = [];
    for (let i = 0; i < 15; i += 1) {
      state = behave(state, [delivered]);
      limits.push(state.inFlightLimit);
    }
    expect(limits).toEqual([2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, null]);
    expect(state.pauses).toBe(0);
  });

  it('waits as long as a throttling endpoint asks, at most an hour, at once', () => {
    expect(behave(well, [{ kind: 'throttled', retryAfter: 60 * SECOND }]).pausedUntil).toBe(60 * SECOND);
    expect(behave(well, [{ kind: 'throttled', retryAfter: DAY }]).pausedUntil).toBe(3_600 * SECOND);
    expect(behave(well, [{ kind: 'throttled', retryAfter: null }]).pausedUntil).toBe(5 * SECOND);
  });

  it('disables after five days without a success, whatever the failures were', () => {
    const failing = behave(well, [badBody], DAY);
    expect(shouldDisable(failing, 5.9 * DAY)).toBe(false);
    expect(shouldDisable(failing, 6 * DAY)).toBe(true);
    expect(shouldDisable(behave(failing, [delivered], 5 * DAY), 20 * DAY)).toBe(false);
  });
});
