import { expect, it } from 'vitest';
import { countOf, cutBytes, timesInARow } from '../../src/platform/text.ts';

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

it('a text is cut to bytes, never within a character', () => {
  expect(cutBytes('abc', 3)).toBe('abc');
  expect(cutBytes('abcd', 3)).toBe('abc');
  expect(cutBytes('é'.repeat(10), 7)).toBe('ééé');
  expect(cutBytes('€€', 5)).toBe('€');
  expect(cutBytes('a😀b', 4)).toBe('a');
  expect(cutBytes('a😀b', 5)).toBe('a😀');
  expect(cutBytes('😀'.repeat(2_000), 4_096)).toBe('😀'.repeat(1_024));
  for (let most = 0; most < 12; most += 1)
    expect(Buffer.byteLength(cutBytes('aé€😀é', most))).toBeLessThanOrEqual(most);
});
