import { setTimeout } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../../database/transaction.ts';

/** Divides the work of retention and of deletions into steps that imports and deliveries do not notice. */

/** Rows of the first step. After a quick step that found enough rows, the next step may have twice as many. */
export const FIRST_ROWS = 250;
const LEAST_ROWS = 50;

/** How long a step should take. If a step takes longer, the next has half as many rows. Milliseconds. */
const STEP_TIME = 40;

/** After this much work, a pause follows. Small steps share a pause. Milliseconds. */
const WORK_BEFORE_PAUSE = 2;

const MINUTE = 60_000;

/**
 * How long a pause is, compared with the work before it, and the most rows per step. At first, four fifths of the time are left to imports
 * and deliveries. If the work takes long, there is much to remove, so it becomes faster. Otherwise it would never end if rows become old
 * faster than they are removed.
 */
const PACES = [
  { from: 0, pause: 4, rows: FIRST_ROWS },
  { from: 10 * MINUTE, pause: 1, rows: 8 * FIRST_ROWS },
  { from: 30 * MINUTE, pause: 0.25, rows: 16 * FIRST_ROWS },
] as const;

const paceAfter = (lasted: number) => PACES.findLast(({ from }) => lasted >= from) ?? PACES[0];

export interface Steps {
  /**
   * Repeats a step with pauses in between. A step may itself repeat other steps, whose time does not count as its own.
   * @param step gets the number of rows that it may change. Returns false to end the repetition.
   * @returns false if the work was stopped early.
   */
  repeat(step: (rows: number) => Promise<boolean>): Promise<boolean>;
}

/** Ends early when the work is stopped. */
const rest = (milliseconds: number, signal: AbortSignal | undefined) =>
  setTimeout(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => {});

const CLOCK = { now: () => performance.now(), rest };

/**
 * @param options.pauses false: without pauses, for tests.
 * @param options.began when the work began, by the clock, which is performance.now().
 */
export function createSteps({
  signal,
  pauses = true,
  clock = CLOCK,
  began: beginning = clock.now(),
}: {
  signal?: AbortSignal;
  pauses?: boolean;
  clock?: typeof CLOCK;
  began?: number;
} = {}): Steps {
  let rows = FIRST_ROWS;
  /** Milliseconds of work since the last pause. */
  let worked = 0;
  /** Milliseconds that all repetitions have taken so far. */
  let repeated = 0;

  async function doStep(step: (rows: number) => Promise<boolean>): Promise<boolean> {
    const before = repeated;
    const began = clock.now();
    const goesOn = await step(rows);
    const took = clock.now() - began - (repeated - before);
    const pace = paceAfter(clock.now() - beginning);
    if (took > STEP_TIME) rows = Math.max(LEAST_ROWS, rows >> 1);
    else if (goesOn) rows = Math.min(pace.rows, rows * 2);
    worked += took;
    if (pauses && worked >= WORK_BEFORE_PAUSE) {
      await clock.rest(worked * pace.pause, signal);
      worked = 0;
    }
    return goesOn;
  }

  return {
    async repeat(step) {
      const before = repeated;
      const began = clock.now();
      try {
        for (let goesOn = true; goesOn; ) {
          if (signal?.aborted) return false;
          goesOn = await doStep(step);
        }
        return true;
      } finally {
        repeated = before + clock.now() - began;
      }
    },
  };
}

/**
 * Repeats a step for rows in the order of their ids.
 * @param step gets the id after which it begins. Returns a count, and the last id that it has looked at; null: no row is left.
 * @returns the sum of the counts.
 */
export async function repeatInOrder(
  steps: Steps,
  step: (after: string, rows: number) => Promise<{ count: number; last: string | null }>,
): Promise<number> {
  let sum = 0;
  let after = '0';
  await steps.repeat(async (rows) => {
    const { count, last } = await step(after, rows);
    sum += count;
    after = last ?? after;
    return last !== null;
  });
  return sum;
}

/**
 * Repeats a step while it changes as many rows as it may.
 * @param step returns how many rows it has changed.
 * @returns how many rows were changed, and whether all were.
 */
export async function repeatWhileFull(
  steps: Steps,
  step: (rows: number) => Promise<number>,
): Promise<{ count: number; isWhole: boolean }> {
  let count = 0;
  const isWhole = await steps.repeat(async (rows) => {
    const changed = await step(rows);
    count += changed;
    return changed === rows;
  });
  return { count, isWhole };
}

/** Deletes rows in steps, each in a transaction. @param statement a DELETE that ends with `LIMIT ?`. */
export const deleteRows = (
  database: DataSource,
  steps: Steps,
  statement: string,
  values: readonly unknown[],
) =>
  repeatWhileFull(steps, async (rows) => {
    const { affectedRows } = await inTransaction(database, (sql) =>
      sql.query<WriteResult>(statement, [...values, rows]),
    );
    return affectedRows;
  });

/** The least of these ids. Leaves out null. */
export const leastId = (first: bigint, ...others: readonly (bigint | string | null | undefined)[]): bigint =>
  others.reduce<bigint>((least, id) => (id == null || BigInt(id) > least ? least : BigInt(id)), first);
