import { expect, it } from 'vitest';
import { failTwice, flap } from '../../../src/cli/demo/subscriber.ts';

it.each([
  [1, null],
  [2, 500],
  [3, 'drop'],
  [4, null],
])('call %i of the receiver that fails twice is answered with %s', async (number, reply) => {
  expect(await failTwice({ number, elapsed: 0 })).toBe(reply);
});

it.each([
  [0, null],
  [4_999, null],
  [5_000, 503],
  [9_999, 503],
  [10_000, null],
  [20_000, null],
  [25_000, 503],
])('after %i ms the flapping receiver answers %s', async (elapsed, reply) => {
  expect(await flap({ number: 1, elapsed })).toBe(reply);
});
