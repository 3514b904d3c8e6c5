import type { Runner } from '../../../src/delivery/engine/ports.ts';
import { createRunner } from '../../../src/delivery/engine/runner.ts';
import { SHUTDOWN_GRACE } from '../../../src/delivery/worker.ts';
import { createLog } from '../../../src/platform/log.ts';
import { createEnginePorts } from './engine-ports.ts';
import type { ObservedRun, Post } from './observed-run.ts';
import type { Activation } from './queue.ts';
import type { Owner } from './timeline.ts';
import { note, type World } from './world.ts';

const LOG = createLog('silent');

/** A delivery process: the engine of src/delivery, on the world's ports. Like worker.ts, it takes jobs and shuts down. */
export interface Process extends Owner {
  readonly name: string;
  /** How far its clock is ahead of MySQL's. */
  readonly clockOffset: number;
  readonly runner: Runner;
  /** The run that was started last. */
  run: ObservedRun | null;
  /** POSTs in flight. */
  posts: Set<Post>;
  /** Jobs that the process is working on. */
  jobs: Set<Activation>;
  isStopping: boolean;
  work(job: Activation): void;
  /** Ends the process when its runs have ended. What is in flight after 4 s is cut short. */
  shutDown(): void;
}

export function createProcess(world: World, name: string, clockOffset: number): Process {
  const { timeline, tuning } = world;
  const { delays, timeSlice, longestRun, linger, maxLingering } = tuning;

  const process: Process = {
    name,
    clockOffset,
    alive: true,
    frozenUntil: 0,
    run: null,
    posts: new Set(),
    jobs: new Set(),
    isStopping: false,
    get runner() {
      return runner;
    },
    work(job) {
      process.jobs.add(job);
      runner.runJob('1').then(
        () => finish(job),
        () => {
          note(world, name, 'job failed');
          // The reconciler finds what it left.
          world.needsReconciler = true;
          finish(job);
        },
      );
    },
    shutDown() {
      process.isStopping = true;
      runner.stop();
      timeline.after(SHUTDOWN_GRACE, process, () => {
        for (const post of [...process.posts]) post.abort();
      });
      exitIfDone();
    },
  };
  const runner = createRunner({
    ...createEnginePorts(world, process),
    ...{ delays, timeSlice, longestRun, linger, maxLingering },
    log: LOG,
  });
  return process;

  function finish(job: Activation): void {
    process.jobs.delete(job);
    timeline.after(1, null, () => world.queue.finish(job));
    exitIfDone();
  }

  function exitIfDone(): void {
    if (!process.isStopping || process.jobs.size > 0) return;
    note(world, name, 'exits');
    process.alive = false;
  }
}
