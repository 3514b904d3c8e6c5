import { expect } from 'vitest';

/** The most milliseconds of processor time, on average, for which work may keep a process to itself. */
const MOST_AT_A_TIME = 50;

/**
 * Expects that the event loop turns while something works. Counts the processor time of this process alone, so that a busy machine changes
 * nothing.
 * @param work must not throw.
 */
export async function expectTurns(work: () => Promise<unknown>): Promise<void> {
  let turns = 0;
  let isOver = false;
  const others = (async () => {
    for (; !isOver; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  })();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  isOver = true;
  await others;
  expect(turns).toBeGreaterThan((user + system) / 1_000 / MOST_AT_A_TIME - 2);
}
