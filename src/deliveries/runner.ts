import type { DataSource } from 'typeorm';
import { createBatcher } from '../platform/batcher.ts';
import type { SecretBox } from '../platform/database/secret-box.ts';
import { isConnectionError } from '../platform/database/transaction.ts';
import type { Log } from '../platform/log.ts';
import type { DeliveryMetrics } from '../platform/metrics.ts';
import { type ActiveRun, type RunTools, startRun } from './active-run.ts';
import { createFairDispatch } from './fair-dispatch.ts';
import { type Lease, type LeaseRequest, renewLeases, takeLeases } from './lease.ts';
import { openMovementLog } from './movement-log.ts';
import type { AttemptTraces } from './posting/attempt-traces.ts';
import type { Poster } from './posting/post.ts';
import { createResultWriter } from './result-writer.ts';
import { RETRY_DELAYS } from './run/schedule.ts';
import { openSettings } from './settings.ts';
import { readStates, type WebhookState, waitBeforeSending } from './webhook-state.ts';
import { MAX_CRASHES, quarantineWebhook } from './webhook-status.ts';

/**
 * Runs one job of the queue `deliveries`: reads the webhook's state, makes a delivery run (takes the lease and sends), and reads the
 * state once more. While something is due and the time slice is not over, the job makes another run. It leaves a job if something
 * remains. Quarantines a webhook whose runs keep ending their process.
 */

const SECOND = 1_000;

/** A run that still has something to send after this long ends. Its webhook goes to the tail of the queue, behind the others. */
const TIME_SLICE = 3 * SECOND;

/** A run that has sent everything stays for this long. A new movement then needs no new job and no new lease. */
const LINGER = 3 * SECOND;

/** A run older than this ends the next time it is idle, so that a process that was added gets its share of the webhooks. */
const LONGEST_RUN = 60 * SECOND;

/** Runs of one process that may linger at a time. Beyond that, the run that has lingered the longest ends. */
const MAX_LINGERING = 4_000;

/** Recording results renews a lease. A run whose endpoint hangs has no results to record, so leases are also renewed on a timer. */
const RENEW_EVERY = 4 * SECOND;

/** A second read of the same due time gives a slightly shorter wait. Smaller differences than this are ignored. Milliseconds. */
const WAIT_TOLERANCE = 100;

/** Runs deliveries. One process runs many webhooks at a time; across all processes, one run at a time holds a webhook's lease. */
export interface Runner {
  /**
   * Sends what is due for the webhook in one or more delivery runs. The last one begins within the time slice. Leaves a job if something remains: without delay if it is due
   * now, otherwise delayed until it is due, or until another run's lease ends.
   * @throws what MySQL or Redis throws. Nothing is lost then: the reconciler finds what is due.
   */
  runJob(webhookId: string): Promise<void>;
  /** Notifies the active runs of these webhooks in this process. `reread` is as in `wakeWebhooks`. */
  notify(webhookIds: readonly string[], reread: boolean): void;
  /** Ends all runs as soon as their POSTs in flight have ended. */
  stop(): void;
}

export interface RunnerOptions extends Partial<Pick<RunTools, 'clock' | 'random'>> {
  database: DataSource;
  secrets: SecretBox;
  poster: Poster;
  /** Adds the webhook's job, to run after `delay` milliseconds. */
  addJob: (webhookId: string, delay: number) => Promise<void>;
  log: Log;
  metrics?: DeliveryMetrics;
  traces?: AttemptTraces | undefined;
  /** The retry schedule. Milliseconds. */
  delays?: readonly number[];
  timeSlice?: number;
  linger?: number;
}

/** Milliseconds since 1970 that never go back within a process, even if the system clock is set back. */
const monotonicNow = () => performance.timeOrigin + performance.now();

export function createRunner(options: RunnerOptions): Runner {
  const { database, secrets, poster, addJob, log, metrics, traces } = options;
  const { clock = monotonicNow, random = Math.random, delays = RETRY_DELAYS } = options;
  const { timeSlice = TIME_SLICE, linger = LINGER } = options;
  const lingering = new Set<ActiveRun>();
  const tools: RunTools = {
    database,
    poster,
    traces,
    clock,
    random,
    movementLog: openMovementLog(database),
    writer: createResultWriter(database, metrics),
    fairDispatch: createFairDispatch(),
    onIdle(run, isIdle) {
      lingering.delete(run);
      if (isIdle) lingering.add(run);
      const [longest] = lingering;
      if (longest === undefined || lingering.size <= MAX_LINGERING) return;
      lingering.delete(longest);
      longest.stop();
    },
  };

  const activeRuns = new Map<string, ActiveRun>();
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

  /** One delivery run. */
  async function run(state: WebhookState): Promise<void> {
    const { id: webhookId, revision } = state.settings;
    const settings = openSettings(state.settings, secrets);
    const timing = { sliceLength: timeSlice, longestRun: LONGEST_RUN, linger };
    const activeRun = startRun(tools, { state, settings, revision, delays, ...timing });
    // Once MySQL shows the lease, wake-ups are published to the run and no job is added. It must be registered before that.
    activeRuns.set(webhookId, activeRun);
    try {
      const began = clock();
      const lease = await takeLease({ webhookId, lastToken: state.lastToken, lastWrites: state.lastWrites });
      if (lease === null) return;
      leases.set(lease, activeRun);
      try {
        const end = await activeRun.send(lease, began);
        if (end === 'lost') {
          metrics?.leaseLost();
          log.warn({ webhookId }, 'lease lost: another run sends on');
        }
      } finally {
        leases.delete(lease);
      }
    } finally {
      if (activeRuns.get(webhookId) === activeRun) activeRuns.delete(webhookId);
      lingering.delete(activeRun);
    }
  }

  return {
    async runJob(webhookId) {
      const sliceEnd = clock() + timeSlice;
      for (;;) {
        const state = await readState(webhookId);
        const wait = state === null ? null : waitBeforeSending(state);
        if (state === null || wait === null) return;
        if (wait > 0 || clock() >= sliceEnd || isStopping) {
          await leaveJob(webhookId, wait);
          return;
        }
        // BullMQ restarts a job that it considers stalled. The run that is still active here goes on.
        if (activeRuns.has(webhookId)) {
          await leaveJob(webhookId, timeSlice);
          return;
        }
        if (state.crashCount >= MAX_CRASHES) {
          if (await quarantineWebhook(database, { id: webhookId, customerId: state.customerId }))
            log.error({ webhookId }, 'webhook paused: its runs keep ending the process');
          return;
        }
        await run(state);
      }
    },
    notify(webhookIds, reread) {
      for (const id of webhookIds) activeRuns.get(id)?.notify(reread);
    },
    stop() {
      isStopping = true;
      clearInterval(renewal);
      for (const run of activeRuns.values()) run.stop();
    },
  };

  /**
   * BullMQ keeps only the last job added while one is active, so the job added here may replace that of a wake-up. Whatever caused
   * the wake-up was committed before, so reading the state once more finds it.
   */
  async function leaveJob(webhookId: string, wait: number): Promise<void> {
    await addJob(webhookId, wait);
    if (wait === 0) return;
    const state = await readState(webhookId);
    const next = state === null ? null : waitBeforeSending(state);
    if (next !== null && next < wait - WAIT_TOLERANCE) await addJob(webhookId, next);
  }
}
