import { expect } from 'vitest';
import { processorTimeOf } from './processor-time.ts';

/** The most milliseconds of processor time, on average, for which work may keep a process to itself. */
const MOST_AT_A_TIME = 50;

/** Expects that the event loop turns while something works. @param work must not throw. */
export async function expectTurns(work: () => Promise<unknown>): Promise<void> {
  let turns = 0;
  let isOver = false;
  const others = (async () => {
    for (; !isOver; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  })();
  const time = await processorTimeOf(work);
  isOver = true;
  await others;
  expect(turns).toBeGreaterThan(time / MOST_AT_A_TIME - 2);
}
