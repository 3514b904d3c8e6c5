import type { Checks } from './checks.ts';
import type { Mood } from './endpoint.ts';
import type { JobQueue } from './queue.ts';
import { between, type Random } from './random.ts';
import type { Tables } from './tables.ts';
import type { Owner, Timeline } from './timeline.ts';

/** How often things go wrong that any network does; probabilities. */
export interface Faults {
  /** A statement that reads fails. */
  read: number;
  /** A record's transaction fails before its COMMIT, or after it: then its answer is lost. */
  record: number;
  /** A job is not added, or it is and the answer is lost. */
  redis: number;
  /** A process does not hear of a wake-up. */
  publish: number;
  /** Whoever stored something dies before it wakes the webhook. */
  wake: number;
  /** MySQL takes up to 3 s for a statement. */
  slow: number;
}

export const NO_FAULTS: Faults = { read: 0, record: 0, redis: 0, publish: 0, wake: 0, slow: 0 };

/** What is the same for all runs of one world. */
export interface Tuning {
  /** Rows read at a time, for the 300, 200 and 100 of the product. */
  page: number;
  delays: readonly number[];
  sliceLength: number;
  longestRun: number;
  linger: number;
}

/** All that surrounds the state machine. */
export interface World {
  timeline: Timeline;
  random: Random;
  tables: Tables;
  queue: JobQueue;
  tuning: Tuning;
  faults: Faults;
  mood: Mood;
  checks: Checks;
  /** What Redis or MySQL forgot, or was never told: only the reconciler finds what was due. */
  needsReconciler: boolean;
  /** Wake-ups that have begun and not ended. */
  wakeUps: number;
  /** Moments at which the log was read, which a process may have kept. */
  keptReads: { newest: number; filtersVersion: number }[];
  trace: string[] | null;
  /** Tells the runs of all processes. */
  publish(reread: boolean): void;
}

/** MySQL answers after this long. */
export function latency({ random, faults }: World): number {
  if (faults.slow > 0 && random() < faults.slow) return between(random, 50, 3_000);
  const chance = random();
  return chance < 0.9 ? 1 + Math.floor(chance * 4) : between(random, 5, 120);
}

export const happens = ({ random }: World, chance: number): boolean => chance > 0 && random() < chance;

/** Notes what happens, for a person to read. */
export function note(world: World, who: string, what: string): void {
  if (world.trace === null) return;
  world.trace.push(`${(world.timeline.now / 1_000).toFixed(3).padStart(12)} ${who.padEnd(8)} ${what}`);
}

/**
 * Asks MySQL: the statement sees one moment, and its answer comes later. Of a process that has died meanwhile, nothing is done, or
 * all of it.
 */
export function ask<T>(
  world: World,
  owner: Owner | null,
  statement: () => T,
  { done, fail }: { done: (answer: T) => void; fail: (() => void) | null },
): void {
  const { timeline, faults } = world;
  timeline.after(latency(world), null, () => {
    if (owner !== null && !owner.alive && world.random() < 0.5) return;
    if (fail !== null && happens(world, faults.read)) {
      // Half of them after it was done, as an answer that was lost.
      if (world.random() < 0.5) statement();
      return timeline.after(latency(world), owner, fail);
    }
    const answer = statement();
    timeline.after(latency(world), owner, () => done(answer));
  });
}
