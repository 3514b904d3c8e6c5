import { describe, expect, it } from 'vitest';
import { percentile, percentilesOf, samplesNeeded } from '../../bench/percentile.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe('percentile', () => {
  it.each([
    { count: 100, part: 0.5, value: 50 },
    { count: 100, part: 0.99, value: 99 },
    { count: 1_000, part: 0.99, value: 990 },
    { count: 10_000, part: 0.999, value: 9_990 },
    { count: 1, part: 0.99, value: 1 },
  ])('at $part of the numbers up to $count is $value', ({ count, part, value }) => {
    expect(percentile(upTo(count), part)).toBe(value);
  });
});

describe('samplesNeeded', () => {
  it.each([
    { part: 0.5, needed: 20 },
    { part: 0.99, needed: 1_000 },
    { part: 0.999, needed: 10_000 },
  ])('is $needed for $part', ({ part, needed }) => {
    expect(samplesNeeded(part)).toBe(needed);
  });
});

describe('percentilesOf', () => {
  it('accepts samples in any order', () => {
    const samples = upTo(1_000).reverse();
    expect(percentilesOf([[samples]], 0.99)).toEqual({ values: [[990]], pooled: false });
    expect(samples[0]).toBe(1_000);
  });

  it('gives the percentile of each round if each has enough samples', () => {
    expect(percentilesOf([[upTo(1_000), upTo(2_000)], [upTo(3_000)]], 0.99)).toEqual({
      values: [[990, 1_980], [2_970]],
      pooled: false,
    });
  });

  it('gives the percentile of all rounds pooled if one round of one side has too few', () => {
    const sides = [
      [upTo(1_000), upTo(1_000)],
      [upTo(999), upTo(1_000)],
    ];
    expect(percentilesOf(sides, 0.99)).toEqual({ values: [[990], [990]], pooled: true });
  });

  it('gives null if a side has too few samples in all rounds together', () => {
    expect(percentilesOf([[upTo(500), upTo(499)]], 0.99)).toBeNull();
    expect(percentilesOf([[upTo(5_000)], [upTo(10)]], 0.99)).toBeNull();
  });
});
