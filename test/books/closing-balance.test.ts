import { expect, it } from 'vitest';
import { findLast } from '../../src/books/find-balances.ts';

type Step = [opening: number | null, closing: number, entries?: number];

it.each<[string, Step[], number]>([
  ['a single step is the last', [[0, 100]], 0],
  [
    'the last of steps in their order is the last',
    [
      [0, 100],
      [100, 150],
      [150, 120],
    ],
    2,
  ],
  [
    'the first of steps in reverse order is the last',
    [
      [150, 120],
      [100, 150],
      [0, 100],
    ],
    0,
  ],
  [
    'the step from which no other continues is the last, in whatever order they came',
    [
      [100, 150],
      [150, 120],
      [0, 100],
    ],
    1,
  ],
  [
    'a statement without entries is not the last when another has entries',
    [
      [0, 100, 3],
      [100, 100, 0],
    ],
    0,
  ],
  [
    'the longer of two statements of a day is the last',
    [
      [0, 150, 3],
      [0, 100, 2],
    ],
    0,
  ],
  [
    'of two equally long statements, the one that came last is the last',
    [
      [0, 150, 2],
      [0, 100, 2],
    ],
    1,
  ],
  [
    'of steps that return to their first balance, the one that came last is the last',
    [
      [0, 100, 9],
      [100, 0, 1],
    ],
    1,
  ],
  [
    'of steps without an opening balance, the one that came last is the last',
    [
      [null, 100],
      [null, 150],
    ],
    1,
  ],
])('%s', (_, steps, expected) => {
  const last = findLast(
    steps.map(([opening, closing, entries = 1], index) => ({
      id: String(index),
      opening: opening === null ? null : BigInt(opening),
      closing: BigInt(closing),
      entries,
    })),
  );
  expect(last?.id).toBe(String(expected));
});

it('an empty list has no last step', () => {
  expect(findLast([])).toBeUndefined();
});
