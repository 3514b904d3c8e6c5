import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';

const MINUTE = 60_000;

/** Milliseconds that ten steps take, each of which works for `work` milliseconds, and how many rows the last one was given. */
async function repeatTen(work: number, lastedMinutes: number): Promise<{ took: number; rows: number }> {
  const steps = createSteps({ began: performance.now() - lastedMinutes * MINUTE });
  const began = performance.now();
  let times = 0;
  let rows = 0;
  await steps.repeat(async (given) => {
    await setTimeout(work);
    rows = given;
    times += 1;
    return times < 10;
  });
  return { took: performance.now() - began, rows };
}

it('background work rests for four times as long as it takes', async () => {
  const { took, rows } = await repeatTen(6, 0);
  expect(took).toBeGreaterThan(10 * 6 * 5 * 0.9);
  expect(rows).toBe(250);
});

it('background work that goes on for long rests less, and takes larger steps', async () => {
  const normal = await repeatTen(6, 0);
  const behind = await repeatTen(6, 11);
  const farBehind = await repeatTen(6, 31);
  expect([behind.rows, farBehind.rows]).toEqual([2_000, 4_000]);
  expect(behind.took).toBeLessThan(normal.took);
  expect(farBehind.took).toBeLessThan(behind.took);
});

it('steps that take longer than 40 ms become smaller, down to 50 rows', async () => {
  expect((await repeatTen(45, 31)).rows).toBe(50);
});

it('small steps share a pause', async () => {
  const steps = createSteps();
  const began = performance.now();
  for (let i = 0; i < 200; i += 1) await steps.repeat(async () => false);
  expect(performance.now() - began).toBeLessThan(200 * 20);
});
