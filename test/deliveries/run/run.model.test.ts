import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Schedule, schedules } from '../model/schedule.ts';
import { simulate } from '../model/simulation.ts';

/** For a long run by hand: MODEL_SCHEDULES=100000 npx vitest run test/deliveries/run/run.model.test.ts */
const NUMBER = Number(process.env.MODEL_SCHEDULES ?? 300);

/** Lines of the trace to show. Its end is what matters. */
const SHOWN = 150;

/** MODEL_SEED repeats a run. */
const SEED = process.env.MODEL_SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.MODEL_SEED);

it(`keeps the guarantees of delivery in ${NUMBER} schedules of crashes, lost leases and late answers`, () => {
  const property = fc.property(schedules, (schedule) => simulate(schedule));
  const { failed, seed, counterexample } = fc.check(property, { numRuns: NUMBER, seed: SEED });
  expect(failed, failed ? `MODEL_SEED=${seed}\n${explain(counterexample?.[0])}` : '').toBe(false);
});

/** The smallest schedule that fails, what happened in it, and what was wrong. */
function explain(schedule: Schedule | undefined): string {
  if (schedule === undefined) return 'no schedule';
  const { steps, ...world } = schedule;
  const trace: string[] = [];
  let wrong = 'It does not fail again: the world is not the same for the same seed.';
  try {
    simulate(schedule, trace);
  } catch (error) {
    wrong = String(error);
  }
  const lines = [
    JSON.stringify(world),
    ...steps.map((step) => JSON.stringify(step)),
    '',
    ...trace.slice(-SHOWN),
  ];
  return `${lines.join('\n')}\n${wrong}`;
}
