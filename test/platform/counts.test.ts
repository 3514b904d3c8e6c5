import { expect, it } from 'vitest';
import { countOf, timesInARow } from '../../src/platform/counts.ts';

it.each([
  [0, '0 rows'],
  [1, '1 row'],
  [1n, '1 row'],
  [2, '2 rows'],
  [12_345, '12,345 rows'],
])('%s of them are counted in words', (count, text) => {
  expect(countOf(count, 'row')).toBe(text);
});

it('takes another plural', () => {
  expect([1, 2].map((count) => countOf(count, 'delivery', 'deliveries'))).toEqual([
    '1 delivery',
    '2 deliveries',
  ]);
});

it('says once, and then how often in a row', () => {
  expect([1, 2].map((count) => timesInARow(count))).toEqual(['once', '2 times in a row']);
});
