import type { Checks } from './checks.ts';
import type { Mood } from './endpoint.ts';
import type { ObservedRun } from './observed-run.ts';
import type { JobQueue } from './queue.ts';
import { between, type Random } from './random.ts';
import type { Tables } from './tables.ts';
import type { Owner, Timeline } from './timeline.ts';

/** The probabilities of faults that occur in any network. */
export interface Faults {
  /** A statement that reads fails. */
  read: number;
  /** A record's transaction fails before its COMMIT, or after it, so that the answer is lost. */
  record: number;
  /** A job is not added, or it is added and the answer is lost. */
  redis: number;
  /** A process does not receive a wake-up. */
  publish: number;
  /** The process that stored something dies before it wakes the webhook. */
  wake: number;
  /** MySQL takes up to 3 s for a statement. */
  slow: number;
}

export const NO_FAULTS: Faults = { read: 0, record: 0, redis: 0, publish: 0, wake: 0, slow: 0 };

/** The settings of all runs of one world. */
export interface Tuning {
  /** Rows read at a time, in place of the product's 300, 200 and 100. */
  page: number;
  delays: readonly number[];
  timeSlice: number;
  longestRun: number;
  linger: number;
  maxLingering: number;
}

/** Everything that surrounds the delivery engine. */
export interface World {
  timeline: Timeline;
  random: Random;
  tables: Tables;
  queue: JobQueue;
  tuning: Tuning;
  faults: Faults;
  mood: Mood;
  checks: Checks;
  /** Whether Redis or MySQL lost something or never received it, so that only the reconciler finds what was due. */
  needsReconciler: boolean;
  /** Wake-ups that have begun and not ended. */
  wakeUps: number;
  /** Moments at which the log was read. A process may have cached what it read then. */
  keptReads: { newest: number; filtersVersion: number }[];
  /** Runs that have had a lease, by its token. */
  runs: Map<string, ObservedRun>;
  trace: string[] | null;
  /** Runs a check that the engine calls. What it throws ends the simulation, and not the engine's promise. */
  watch(check: () => void): void;
  /** Notifies the runs of all processes. */
  publish(reread: boolean): void;
}

/** How long MySQL takes to answer. */
export function latency({ random, faults }: World): number {
  if (faults.slow > 0 && random() < faults.slow) return between(random, 50, 3_000);
  const chance = random();
  return chance < 0.9 ? 1 + Math.floor(chance * 4) : between(random, 5, 120);
}

export const happens = ({ random }: World, chance: number): boolean => chance > 0 && random() < chance;

/** Notes what happens in the trace, for people to read. */
export function note(world: World, who: string, what: string): void {
  if (world.trace === null) return;
  world.trace.push(`${(world.timeline.now / 1_000).toFixed(3).padStart(12)} ${who.padEnd(8)} ${what}`);
}

/**
 * Asks MySQL. The statement sees one moment, and its answer comes later. If the process has died in between, the statement has
 * either not run, or run completely, and the promise never ends.
 * @param options.canFail whether the connection may break. Default: yes.
 */
export function ask<T>(
  world: World,
  owner: Owner | null,
  statement: () => T,
  { canFail = true } = {},
): Promise<T> {
  const { timeline, faults, random } = world;
  return new Promise((resolve, reject) => {
    timeline.after(latency(world), null, () => {
      if (owner !== null && !owner.alive && random() < 0.5) return;
      if (canFail && happens(world, faults.read)) {
        // In half of the cases the statement has run, and only its answer is lost.
        if (random() < 0.5) statement();
        timeline.after(latency(world), owner, () => reject(new Error('MySQL does not answer')));
        return;
      }
      const answer = statement();
      timeline.after(latency(world), owner, () => resolve(answer));
    });
  });
}

/** Adds the webhook's job. @returns whether Redis has confirmed it. */
export function addJob(world: World, delay: number): boolean {
  if (!happens(world, world.faults.redis)) {
    world.queue.add(delay);
    return true;
  }
  world.needsReconciler = true;
  if (world.random() < 0.5) world.queue.add(delay);
  note(world, 'redis', 'does not answer');
  return false;
}
