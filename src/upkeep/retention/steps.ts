import { setTimeout } from 'node:timers/promises';
import { FIRST_READ_AFTER } from '../../movements/id-range.ts';
import type { Sql } from '../../platform/database/transaction.ts';

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

/** Finds what is older than a moment. */

const DAY = 24 * 60 * 60 * 1_000;

const NOW = 'SELECT NOW(3) AS now';

/** MySQL's clock, which all processes share. */
export async function readNow(sql: Sql): Promise<Date> {
  const [row] = await sql.query<{ now: Date }[]>(NOW);
  if (row === undefined) throw new Error('MySQL does not say what time it is');
  return row.now;
}

/** The moment that is this many days before `now`. */
export const daysBefore = (now: Date, days: number): Date => new Date(now.getTime() - days * DAY);

/** A calendar date, as MySQL writes it. In UTC. */
export const dateOf = (moment: Date): string => moment.toISOString().slice(0, 10);

const NEWEST = 'SELECT last_transaction_id FROM import_locks WHERE customer_id = ?';

/** Finds the newest movement of a customer that was stored before a moment. */
export type FindNewestBefore = (customerId: string) => Promise<bigint>;

/**
 * Ids and date_readed of a customer grow together, so what is older than a moment is everything up to one id. That needs no index on
 * the times of the other tables.
 * @returns a function that finds this id for a customer, and remembers it; 0: nothing is older.
 */
export function createAgeFinder(sql: Sql, before: Date): FindNewestBefore {
  const found = new Map<string, bigint>();
  return async (customerId) => {
    const known = found.get(customerId);
    if (known !== undefined) return known;
    // Read first: what is stored after this is beyond it, and is found by the second statement.
    const [lock] = await sql.query<{ last_transaction_id: string }[]>(NEWEST, [customerId]);
    const [younger] = await sql.query<{ id: string }[]>(FIRST_READ_AFTER, [customerId, before]);
    const newest = younger === undefined ? BigInt(lock?.last_transaction_id ?? 0) : BigInt(younger.id) - 1n;
    found.set(customerId, newest);
    return newest;
  };
}

/**
 * Ids per statement. MySQL looks up where each id is if there are fewer than 200 (eq_range_index_dive_limit). With more, it relies on
 * its statistics. If these are old, it may read the whole table.
 */
const IDS = 100;

/**
 * Deletes rows by their ids.
 * @param statement a DELETE whose last condition is `IN (?)`.
 * @param values of its other conditions.
 */
export async function deleteByIds(
  sql: Sql,
  statement: string,
  values: readonly unknown[],
  ids: readonly string[],
): Promise<void> {
  for (let start = 0; start < ids.length; start += IDS) {
    await sql.query(statement, [...values, ids.slice(start, start + IDS)]);
  }
}
