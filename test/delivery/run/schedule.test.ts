import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../../packages/sdk/src/retry-after.ts';
import { RETRY_DELAYS, retryDelay, withJitter } from '../../../src/delivery/run/schedule.ts';
import { MAX_RETRY_AFTER } from '../../../src/webhook-record/circuit.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The middle of the range: no jitter. */
const exact = 0.5;

describe('the retry schedule', () => {
  it.each([
    [1, 5 * SECOND],
    [2, 30 * SECOND],
    [3, 2 * MINUTE],
    [4, 10 * MINUTE],
    [5, 30 * MINUTE],
    [6, 2 * HOUR],
    [7, 5 * HOUR],
    [8, 10 * HOUR],
    [9, 10 * HOUR],
    [10, 22 * HOUR],
    [11, 24 * HOUR],
  ])('after failure %i waits %i ms', (failures, delay) => {
    expect(retryDelay(failures, { random: exact })).toBe(delay);
  });

  it('ends after the twelfth failure', () => {
    expect(RETRY_DELAYS).toHaveLength(11);
    expect(retryDelay(12, { random: exact })).toBeNull();
    expect(retryDelay(13, { random: exact })).toBeNull();
  });

  it('spans about three days', () => {
    const total = RETRY_DELAYS.reduce((a, b) => a + b);
    expect(total / (24 * HOUR)).toBeGreaterThan(3);
    expect(total / (24 * HOUR)).toBeLessThan(3.2);
  });

  it('spreads every delay by at most a fifth in each direction', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 11 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (n, random) => {
          const delay = RETRY_DELAYS[n - 1] ?? 0;
          const spread = retryDelay(n, { random }) ?? -1;
          return spread >= Math.floor(delay * 0.8) && spread <= Math.ceil(delay * 1.2);
        },
      ),
    );
    expect(withJitter(1_000, 0)).toBe(800);
    expect(withJitter(1_000, 0.999_999)).toBe(1_200);
  });

  it('obeys a Retry-After that is later than the schedule, up to an hour', () => {
    expect(retryDelay(1, { random: exact, retryAfter: 40 * SECOND })).toBe(40 * SECOND);
    expect(retryDelay(1, { random: exact, retryAfter: 5 * HOUR })).toBe(MAX_RETRY_AFTER);
    expect(retryDelay(6, { random: exact, retryAfter: 40 * SECOND })).toBe(2 * HOUR);
  });

  it('does not let a Retry-After prolong a schedule that has ended', () => {
    expect(retryDelay(12, { random: exact, retryAfter: HOUR })).toBeNull();
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-01-15T12:00:00Z');
  it.each([
    ['120', 120 * SECOND],
    [' 0 ', 0],
    ['Thu, 15 Jan 2026 12:00:30 GMT', 30 * SECOND],
    ['Thu, 15 Jan 2026 11:00:00 GMT', 0],
    ['Thursday, 15-Jan-26 12:01:00 GMT', MINUTE],
    ['soon', null],
    ['-5', null],
    ['1.5', null],
    ['', null],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sun Nov  6 08:49:37 1994', 0],
    ['Sun, 06 Nov 1994 08:49:37 CET', null],
    ['Sun, 06 Nov 1994 25:49:37 GMT', null],
    ['99999999999999999999', Number.MAX_SAFE_INTEGER],
    [undefined, null],
  ])('%j asks for a delay of %j ms', (header, expected) => {
    expect(parseRetryAfter(header, now)).toBe(expected);
  });
});
