import { setTimeout } from 'node:timers/promises';

/** Divides the work of retention and of deletions into steps that imports and deliveries do not notice. */

/** Rows per step, at first and at most. */
export const MOST_ROWS = 500;
const LEAST_ROWS = 50;

/** How long a step should take. If one takes longer, the next has fewer rows. Milliseconds. */
const STEP_TIME = 40;

/** After each step comes a pause of four times as long, so that four fifths of the time belong to the others. Milliseconds. */
const PAUSE = 4;
const LEAST_PAUSE = 20;

export interface Steps {
  /**
   * Repeats a step, with a pause after each. A step may itself repeat others: what these take does not count as its own time.
   * @param step is told how many rows it may change. It ends the repetition with false.
   * @returns false if the work was stopped before.
   */
  repeat(step: (rows: number) => Promise<boolean>): Promise<boolean>;
}

/** @param options.pauses false: without pauses, for tests. */
export function createSteps({
  signal,
  pauses = true,
}: {
  signal?: AbortSignal;
  pauses?: boolean;
} = {}): Steps {
  let rows = MOST_ROWS;
  /** Milliseconds that all repetitions have taken so far. */
  let repeated = 0;

  async function doStep(step: (rows: number) => Promise<boolean>): Promise<boolean> {
    const before = repeated;
    const began = performance.now();
    const goesOn = await step(rows);
    const took = performance.now() - began - (repeated - before);
    rows = took > STEP_TIME ? Math.max(LEAST_ROWS, rows >> 1) : Math.min(MOST_ROWS, rows * 2);
    if (pauses) await rest(Math.max(LEAST_PAUSE, took * PAUSE), signal);
    return goesOn;
  }

  return {
    async repeat(step) {
      const before = repeated;
      const began = performance.now();
      try {
        for (let goesOn = true; goesOn; ) {
          if (signal?.aborted) return false;
          goesOn = await doStep(step);
        }
        return true;
      } finally {
        repeated = before + performance.now() - began;
      }
    },
  };
}

/** Ends early when the work is stopped. */
const rest = (milliseconds: number, signal: AbortSignal | undefined) =>
  setTimeout(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => {});
