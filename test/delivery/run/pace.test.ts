import { describe, expect, it } from 'vitest';
import { createPace } from '../../../src/delivery/run/pace.ts';

/** When each of `count` POSTs goes if it is asked for as early as allowed, with a timer that is `late` milliseconds late. */
function departures(perSecond: number, count: number, late = 0): number[] {
  const pace = createPace(perSecond, 0);
  let now = 0;
  return Array.from({ length: count }, () => {
    const wait = pace.wait(now);
    now += wait + (wait > 0 ? late : 0);
    pace.spend(now);
    return now;
  });
}

describe('the pace of a webhook with a rate limit', () => {
  it('spaces POSTs evenly', () => {
    expect(departures(10, 4)).toEqual([0, 100, 200, 300]);
  });

  it('makes up for a late timer, so that the rate is reached', () => {
    expect(departures(100, 101, 3).at(-1)).toBeLessThanOrEqual(1_003);
  });

  it('gives no credit for a time without POSTs', () => {
    const pace = createPace(10, 0);
    pace.spend(0);
    pace.spend(5_000);
    expect(pace.wait(5_000)).toBe(100);
  });

  it('goes on from where an earlier run stopped', () => {
    expect(createPace(1, 700).wait(0)).toBe(700);
  });

  it('never waits if there is no limit', () => {
    const pace = createPace(null, 1_000_000);
    pace.spend(0);
    expect(pace.wait(0)).toBe(0);
  });
});
