import { expect, it } from 'vitest';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';

const MINUTE = 60_000;

/** A clock that only work and pauses move. */
function createClock() {
  let time = 0;
  const work = (milliseconds: number) => {
    time += milliseconds;
  };
  return { now: () => time, work, rest: async (milliseconds: number) => work(milliseconds) };
}

/** Milliseconds that ten steps take, each of which works for `work` milliseconds, and how many rows the last one was given. */
async function repeatTen(work: number, lastedMinutes: number): Promise<{ took: number; rows: number }> {
  const clock = createClock();
  const steps = createSteps({ clock, began: -lastedMinutes * MINUTE });
  let times = 0;
  let rows = 0;
  await steps.repeat(async (given) => {
    clock.work(work);
    rows = given;
    times += 1;
    return times < 10;
  });
  return { took: clock.now(), rows };
}

it('background work rests for four times as long as it takes', async () => {
  expect(await repeatTen(6, 0)).toEqual({ took: 10 * 6 * 5, rows: 250 });
});

it('background work that goes on for long rests less, and takes larger steps', async () => {
  expect(await repeatTen(6, 11)).toEqual({ took: 10 * 6 * 2, rows: 2_000 });
  expect(await repeatTen(6, 31)).toEqual({ took: 10 * 6 * 1.25, rows: 4_000 });
});

it('steps that take longer than 40 ms become smaller, down to 50 rows', async () => {
  expect((await repeatTen(45, 31)).rows).toBe(50);
});

it('small steps share a pause', async () => {
  const clock = createClock();
  const pauses: number[] = [];
  const rest = async (milliseconds: number) => void pauses.push(milliseconds);
  const steps = createSteps({ clock: { ...clock, rest } });
  for (let i = 0; i < 200; i += 1)
    await steps.repeat(async () => {
      clock.work(0.25);
      return false;
    });
  // Two milliseconds of work are eight steps.
  expect(pauses).toEqual(Array(25).fill(8));
});
