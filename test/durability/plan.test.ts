import { describe, expect, it } from 'vitest';
import { FAULT_KINDS, makePlan, subjectsOf } from './plan.ts';

const options = { seed: 7, minutes: 20, kinds: FAULT_KINDS, gap: 8 };

describe('the plan of a fault run', () => {
  it('is the same for the same seed, and different for another seed', () => {
    expect(makePlan(options)).toEqual(makePlan(options));
    expect(makePlan({ ...options, seed: 8 })).not.toEqual(makePlan(options));
  });

  it.each([1, 2, 3])('contains every kind of fault with seed %i', (seed) => {
    const kinds = new Set(makePlan({ ...options, seed }).map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual([...FAULT_KINDS].sort());
  });

  it('never has two faults for one subject at the same time, and ends before the load', () => {
    const busyUntil = new Map<string, number>();
    for (const fault of makePlan(options)) {
      for (const subject of subjectsOf(fault)) {
        expect(fault.at).toBeGreaterThan(busyUntil.get(subject) ?? 0);
        busyUntil.set(subject, fault.at + fault.seconds);
      }
      expect(fault.at + fault.seconds).toBeLessThan(20 * 60);
    }
  });
});
