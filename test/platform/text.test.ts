import { expect, it } from 'vitest';
import { countOf, timesInARow } from '../../src/platform/text.ts';

it.each([
  [0, '0 rows'],
  [1, '1 row'],
  [1n, '1 row'],
  [2, '2 rows'],
  [12_345, '12,345 rows'],
])('countOf writes a count of %s with thousands separators and the right plural', (count, text) => {
  expect(countOf(count, 'row')).toBe(text);
});

it('countOf accepts an irregular plural', () => {
  expect([1, 2].map((count) => countOf(count, 'delivery', 'deliveries'))).toEqual([
    '1 delivery',
    '2 deliveries',
  ]);
});

it('timesInARow says "once", and a number for more', () => {
  expect([1, 2].map((count) => timesInARow(count))).toEqual(['once', '2 times in a row']);
});
