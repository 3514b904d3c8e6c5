import type { DataSource } from 'typeorm';
import { createBatcher } from '../batcher.ts';
import type { SecretBox } from '../database/secret-box.ts';
import { isConnectionError } from '../database/transaction.ts';
import type { Log } from '../log.ts';
import { type ActiveRun, type RunTools, startRun } from './active-run.ts';
import { createFairDispatch } from './fair-dispatch.ts';
import { type Lease, type LeaseRequest, renewLeases, takeLeases } from './lease.ts';
import { openMovementLog } from './movement-log.ts';
import type { Poster } from './posting/post.ts';
import { createResultWriter } from './result-writer.ts';
import { RETRY_DELAYS } from './run/schedule.ts';
import { openSettings } from './settings.ts';
import { readStates, type WebhookState, waitOf } from './webhook-state.ts';

const SECOND = 1_000;

/** After this long a webhook with a backlog goes to the tail of the queue, so that the others have their turn. */
const TIME_SLICE = 3 * SECOND;

/** A run that has sent everything stays for so long, since a run that is there already costs a new movement no job and no lease. */
const LINGER = 3 * SECOND;

/** A run that is idle after this long ends, so that a process that was added gets its share of the webhooks. */
const LONGEST_RUN = 60 * SECOND;

/** Runs of one process that may linger at a time; beyond that the one that has lingered the longest ends. */
const MAX_LINGERING = 4_000;

/** An endpoint that hangs yields no results, whose records would prolong the lease. */
const RENEW_EVERY = 4 * SECOND;

/** Two looks at the same moment to come differ by the time between them. Milliseconds. */
const TIMER_LATENESS = 100;

/** Runs in a row that took the lease and neither recorded anything nor gave it back. Most likely the webhook ends its process. */
const MAX_CRASHES = 10;

const QUARANTINE = `
  UPDATE webhooks SET status = 'paused', revision = revision + 1,
    status_reason = 'Its delivery runs have ended without a result ${MAX_CRASHES} times in a row. Its deliveries are kept.'
  WHERE id = ? AND status = 'active'`;

/** Runs deliveries of webhooks. One process runs many at a time; of all processes, one run at a time holds a webhook's lease. */
export interface Runner {
  /**
   * Sends what is due for the webhook, for one time slice at most, and leaves a job behind if something remains: without delay
   * when it is due, or for the moment at which it will be, or at which another run's lease is over.
   * @throws what MySQL or Redis throws. Nothing is lost then: the reconciler finds what is due.
   */
  run(webhookId: string): Promise<void>;
  /** Tells the runs of these webhooks that are active here of new movements, or (`reread`) of a change. */
  notify(webhookIds: readonly string[], reread: boolean): void;
  /** Ends all runs as soon as what they have in flight has ended. */
  stop(): void;
}

export interface RunnerOptions extends Partial<Pick<RunTools, 'clock' | 'random'>> {
  database: DataSource;
  secrets: SecretBox;
  poster: Poster;
  /** Adds the webhook's job, to run after `delay` milliseconds. */
  wake: (webhookId: string, delay: number) => Promise<void>;
  log: Log;
  /** The retry schedule, milliseconds. */
  delays?: readonly number[];
  timeSlice?: number;
  linger?: number;
}

/** Wall-clock milliseconds that never go back within a process, whatever is done to the clock. */
const monotonicNow = () => performance.timeOrigin + performance.now();

export function createRunner(options: RunnerOptions): Runner {
  const { database, secrets, poster, wake, log } = options;
  const { clock = monotonicNow, random = Math.random, delays = RETRY_DELAYS } = options;
  const { timeSlice = TIME_SLICE, linger = LINGER } = options;
  const lingering = new Set<ActiveRun>();
  const tools: RunTools = {
    database,
    poster,
    clock,
    random,
    movementLog: openMovementLog(database),
    writer: createResultWriter(database),
    dispatch: createFairDispatch(),
    onIdle(run, isIdle) {
      lingering.delete(run);
      if (isIdle) lingering.add(run);
      const [longest] = lingering;
      if (longest === undefined || lingering.size <= MAX_LINGERING) return;
      lingering.delete(longest);
      longest.stop();
    },
  };

  /** Runs that are active here; one statement renews all their leases. */
  const active = new Map<string, ActiveRun>();
  const leases = new Map<Lease, ActiveRun>();
  let isStopping = false;
  const renewal = setInterval(() => void renew(), RENEW_EVERY);

  async function renew(): Promise<void> {
    const began = clock();
    try {
      for (const lease of await renewLeases(database, [...leases.keys()])) leases.get(lease)?.renewed(began);
    } catch (err) {
      log.warn({ err }, 'leases not renewed');
    }
  }

  const retryAlone = (error: unknown) => !isConnectionError(error);
  const readState = createBatcher((ids: readonly string[]) => readStates(database, ids), { retryAlone });
  const takeLease = createBatcher((requests: readonly LeaseRequest[]) => takeLeases(database, requests), {
    retryAlone,
  });

  async function runOnce(state: WebhookState): Promise<void> {
    const { id: webhookId, revision } = state.settings;
    const settings = openSettings(state.settings, secrets);
    const timing = { sliceLength: timeSlice, longestRun: LONGEST_RUN, linger };
    const run = startRun(tools, { state, settings, revision, delays, ...timing });
    // Whoever sees the lease tells the run of new movements, so it must be known before the lease is.
    active.set(webhookId, run);
    try {
      const began = clock();
      const lease = await takeLease({ webhookId, lastToken: state.lastToken, lastWrites: state.lastWrites });
      if (lease === null) return;
      leases.set(lease, run);
      try {
        const end = await run.send(lease, began);
        if (end === 'lost') log.warn({ webhookId }, 'lease lost: another run sends on');
      } finally {
        leases.delete(lease);
      }
    } finally {
      if (active.get(webhookId) === run) active.delete(webhookId);
      lingering.delete(run);
    }
  }

  return {
    async run(webhookId) {
      const sliceEnd = clock() + timeSlice;
      for (;;) {
        const state = await readState(webhookId);
        const wait = state === null ? null : waitOf(state);
        if (state === null || wait === null) return;
        if (wait > 0 || clock() >= sliceEnd || isStopping) {
          await leaveJob(webhookId, wait);
          return;
        }
        // BullMQ may start a job again that it takes for lost. The run that is there goes on.
        if (active.has(webhookId)) {
          await leaveJob(webhookId, timeSlice);
          return;
        }
        if (state.crashCount >= MAX_CRASHES) {
          await database.query(QUARANTINE, [webhookId]);
          log.error({ webhookId }, 'webhook paused: its runs keep ending the process');
          return;
        }
        await runOnce(state);
      }
    },
    notify(webhookIds, reread) {
      for (const id of webhookIds) active.get(id)?.notify(reread);
    },
    stop() {
      isStopping = true;
      clearInterval(renewal);
      for (const run of active.values()) run.stop();
    },
  };

  /**
   * BullMQ keeps only the last job that is added while one is active. The job that is added here may therefore replace a wake-up. Its
   * cause was committed before it, so the look after adding finds it.
   */
  async function leaveJob(webhookId: string, wait: number): Promise<void> {
    await wake(webhookId, wait);
    if (wait === 0) return;
    const state = await readState(webhookId);
    const next = state === null ? null : waitOf(state);
    if (next !== null && next < wait - TIMER_LATENESS) await wake(webhookId, next);
  }
}
