import { type WebhookState, waitBeforeSending } from '../../../src/deliveries/webhook-state.ts';
import { startRun } from './active-run.ts';
import type { Activation } from './queue.ts';
import { readFilters, readWebhook } from './reads.ts';
import type { ActiveRun, Post } from './run-handles.ts';
import type { Owner } from './timeline.ts';
import { addJob } from './wake.ts';
import { ask, latency, note, type World } from './world.ts';
import { type Lease, quarantine, takeLease } from './writes.ts';

const MAX_CRASHES = 10;
const SHUTDOWN_GRACE = 4_000;

/** A delivery process, like src/deliveries/runner.ts and worker.ts. */
export interface Process extends Owner {
  readonly name: string;
  /** How far its clock is ahead of MySQL's. */
  readonly clockOffset: number;
  /** The run that receives wake-ups. */
  active: ActiveRun | null;
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
  const { timeline, tables, tuning } = world;
  let runs = 0;

  const process: Process = {
    name,
    clockOffset,
    alive: true,
    frozenUntil: 0,
    active: null,
    posts: new Set(),
    jobs: new Set(),
    isStopping: false,
    work(job) {
      process.jobs.add(job);
      look(job, timeline.now + tuning.sliceLength);
    },
    shutDown() {
      process.isStopping = true;
      process.active?.stop();
      timeline.after(SHUTDOWN_GRACE, process, () => {
        for (const post of [...process.posts]) post.abort();
      });
      exitIfDone();
    },
  };
  return process;

  function look(job: Activation, sliceEnd: number): void {
    const fail = () => failed(job);
    readState((state) => {
      const wait = waitBeforeSending(state);
      note(world, name, `looks: wait ${wait}`);
      if (wait === null) return finish(job);
      if (wait > 0 || timeline.now >= sliceEnd || process.isStopping) return leaveJob(job, wait);
      if (state.crashCount >= MAX_CRASHES) {
        return ask(world, process, () => quarantine(tables), { done: () => finish(job), fail });
      }
      runOnce(state, () => look(job, sliceEnd), fail);
    }, fail);
  }

  function runOnce(state: WebhookState, done: () => void, fail: () => void): void {
    runs += 1;
    const run = startRun(world, process, state, `${name}/${runs}`);
    process.active = run;
    const forget = () => {
      if (process.active === run) process.active = null;
    };
    const request = { lastToken: state.lastToken, lastWrites: state.lastWrites, token: run.name };
    ask(world, process, () => takeLease(tables, timeline.now, request), {
      done(lease: Lease | null) {
        if (lease === null) {
          note(world, run.name, 'gets no lease');
          forget();
          return done();
        }
        run.send(lease, () => {
          forget();
          // The promise resolves after the event.
          timeline.after(0, process, run.hasFailed ? fail : done);
        });
      },
      fail() {
        forget();
        fail();
      },
    });
  }

  function leaveJob(job: Activation, wait: number): void {
    redisAdd(job, wait, () => {
      if (wait === 0) return finish(job);
      readState(
        (state) => {
          if (waitBeforeSending(state) === 0) redisAdd(job, 0, () => finish(job));
          else finish(job);
        },
        () => failed(job),
      );
    });
  }

  function redisAdd(job: Activation, delay: number, done: () => void): void {
    timeline.after(latency(world), null, () => {
      if (!process.alive && world.random() < 0.5) return;
      const isAdded = addJob(world, delay);
      timeline.after(1, process, isAdded ? done : () => failed(job));
    });
  }

  /** Runs two statements, so the filters may be newer than the rest. */
  function readState(done: (state: WebhookState) => void, fail: () => void): void {
    ask(world, process, () => readWebhook(tables, timeline.now), {
      done({ state, refiltered }) {
        if (!refiltered) return done(state);
        ask(world, process, () => readFilters(tables), {
          done: (filters) => done({ ...state, filters }),
          fail,
        });
      },
      fail,
    });
  }

  /** The job failed. The reconciler finds what it left. */
  function failed(job: Activation): void {
    note(world, name, 'job failed');
    world.needsReconciler = true;
    finish(job);
  }

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
