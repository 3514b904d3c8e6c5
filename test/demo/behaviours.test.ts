import { expect, it } from 'vitest';
import { failTwice, flap } from '../../src/demo/subscriber.ts';

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
  [7_999, null],
  [8_000, 503],
  [19_999, 503],
  [20_000, null],
  [30_000, null],
  [38_000, 503],
])('after %i ms the flapping receiver answers %s', async (elapsed, reply) => {
  expect(await flap({ number: 1, elapsed })).toBe(reply);
});
