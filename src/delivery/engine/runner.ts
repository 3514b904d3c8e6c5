import { createBatcher } from '../../platform/batcher.ts';
import type { Log } from '../../platform/log.ts';
import type { DeliveryMetrics } from '../../platform/metrics.ts';
import { RETRY_DELAYS } from '../run/schedule.ts';
import { type WebhookState, waitBeforeSending } from '../webhook-state.ts';
import { type ActiveRun, type RunTools, startRun } from './active-run.ts';
import type { Lease } from './lease.ts';
import type { CancelTimer, EnginePorts } from './ports.ts';
import { createPostQueue, shareAmong } from './post-queue.ts';
import { createResultWriter, ResultsRefusedError } from './result-writer.ts';
import { CRASHED, MAX_CRASHES } from './webhook-status.ts';

/**
 * Runs one job of the queue `deliveries`: reads the webhook's state, makes a delivery run (takes the lease and sends), and reads the
 * state once more. While something is due and the time slice is not over, the job makes another run. If something is left, it adds a
 * job for it. It quarantines a webhook whose runs keep ending their process.
 */

const SECOND = 1_000;

/** If a run still has something to send after this long, it ends, and its webhook goes to the end of the queue. */
const TIME_SLICE = 3 * SECOND;

/** A run that has sent everything waits this long for new movements. A new movement then needs no new job and no new lease. */
const LINGER = 3 * SECOND;

/** A run older than this ends the next time it is idle, so that a process that was added gets its share of the webhooks. */
const LONGEST_RUN = 60 * SECOND;

/** Runs of one process that may linger at a time. Beyond that, the run that has lingered the longest ends. */
const MAX_LINGERING = 4_000;

/** How often leases are renewed. Recording results also renews a lease, but a run whose endpoint hangs has no results to record. */
const RENEW_EVERY = 4 * SECOND;

/** How long a shutdown waits for POSTs in flight. POSTs that it cuts short after that do not count as attempts. Milliseconds. */
export const SHUTDOWN_GRACE = 4_000;

/** Two reads of the same due time give slightly different waits. Smaller differences than this are ignored. Milliseconds. */
const WAIT_TOLERANCE = 100;

/** Runs deliveries. One process runs many webhooks at a time; across all processes, one run at a time holds a webhook's lease. */
export interface Runner {
  /**
   * Sends the webhook's due deliveries in one or more delivery runs. Starts no run after the time slice. If something is left, adds a job
   * for it: without delay if it is due now, otherwise delayed until it is due or another run's lease ends.
   * @throws what MySQL or Redis throws. Nothing is lost, because the reconciler finds due deliveries.
   */
  runJob(webhookId: string): Promise<void>;
  /** Notifies the active runs of these webhooks in this process. `reread` is as in `wakeWebhooks`. */
  notify(webhookIds: readonly string[], reread: boolean): void;
  /** Ends all runs as soon as their POSTs in flight have ended. */
  stop(): void;
}

export interface RunnerOptions extends EnginePorts, Partial<Pick<RunTools, 'traces'>> {
  log: Log;
  metrics?: DeliveryMetrics;
  /** The retry schedule. Milliseconds. */
  delays?: readonly number[];
  timeSlice?: number;
  longestRun?: number;
  linger?: number;
  maxLingering?: number;
}

export function createRunner({
  log,
  metrics,
  traces,
  delays = RETRY_DELAYS,
  timeSlice = TIME_SLICE,
  longestRun = LONGEST_RUN,
  linger = LINGER,
  maxLingering = MAX_LINGERING,
  ...ports
}: RunnerOptions): Runner {
  const { webhooks, jobs, clock } = ports;
  const lingering = new Set<ActiveRun>();
  const tools: RunTools = {
    ...ports,
    log,
    traces,
    writer: createResultWriter(ports.results, clock, {
      log,
      metrics,
      onLocked: (lease) => void renewOne(lease),
    }),
    posts: createPostQueue(clock),
    share: () => shareAmong(activeRuns.size - lingering.size),
    onIdle(run, isIdle) {
      lingering.delete(run);
      if (isIdle) lingering.add(run);
      const [longest] = lingering;
      if (longest === undefined || lingering.size <= maxLingering) return;
      lingering.delete(longest);
      longest.stop();
    },
  };

  const activeRuns = new Map<string, ActiveRun>();
  const leases = new Set<Lease>();
  let isStopping = false;
  let cancelRenewal: CancelTimer | null = null;

  /** Renews the leases every four seconds while there are any. */
  function renewLater(): void {
    cancelRenewal = clock.after(RENEW_EVERY, () => {
      cancelRenewal = null;
      if (leases.size === 0) return;
      void renew([...leases]);
      renewLater();
    });
  }

  async function renew(held: readonly Lease[]): Promise<void> {
    const began = clock.now();
    try {
      for (const { webhookId } of await webhooks.renewLeases(held)) activeRuns.get(webhookId)?.renewed(began);
    } catch (err) {
      log.warn({ err }, 'leases not renewed');
    }
  }

  /** Renews a lease. Leases of records that failed together are renewed together. */
  const renewOne = createBatcher(async (held: readonly Lease[]) => {
    await renew(held);
    return held.map(() => undefined);
  });

  async function run(state: WebhookState): Promise<void> {
    const { id: webhookId, revision } = state.settings;
    const settings = webhooks.openSettings(state.settings);
    const timing = { sliceLength: timeSlice, longestRun, linger };
    const activeRun = startRun(tools, { state, settings, revision, delays, ...timing });
    // Registered before it takes the lease. Once MySQL shows the lease, wake-ups are only published to the run and add no job.
    activeRuns.set(webhookId, activeRun);
    try {
      const began = clock.now();
      const { lastToken, lastWrites } = state;
      const lease = await webhooks.takeLease({ webhookId, revision, lastToken, lastWrites });
      if (lease === null) return;
      leases.add(lease);
      if (cancelRenewal === null && !isStopping) renewLater();
      try {
        const end = await activeRun.send(lease, began);
        if (end === 'lost') {
          metrics?.leaseLost();
          log.warn({ webhookId }, 'lease lost: another run sends on');
        }
      } catch (err) {
        if (!(err instanceof ResultsRefusedError)) throw err;
        const outcome = await webhooks.quarantine(
          { id: webhookId, customerId: state.customerId },
          err.message,
        );
        if (outcome !== 'paused') throw err;
        log.error({ err, webhookId }, 'webhook paused: MySQL refuses the results of its deliveries');
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
      const sliceEnd = clock.now() + timeSlice;
      for (;;) {
        const state = await webhooks.readState(webhookId);
        if (state?.status !== 'active') return;
        const { openFor } = state;
        const wait = waitBeforeSending(state);
        // Wake-ups add no job while the circuit is open, so this one leaves a job for when it is half-open, also with nothing to send yet.
        const left = wait === null ? openFor : Math.min(wait, openFor ?? wait);
        if (left === null) return;
        if (wait === null || wait > 0 || clock.now() >= sliceEnd || isStopping) {
          await leaveJob(webhookId, Math.ceil(left));
          return;
        }
        // BullMQ has restarted a job that it considers stalled. The run is still active in this process and continues.
        if (activeRuns.has(webhookId)) {
          await leaveJob(webhookId, timeSlice);
          return;
        }
        if (state.crashCount >= MAX_CRASHES) {
          const outcome = await webhooks.quarantine({ id: webhookId, customerId: state.customerId }, CRASHED);
          if (outcome === 'paused')
            log.error({ webhookId }, 'webhook paused: its runs keep ending the process');
          if (outcome !== 'many') return;
          log.error({ webhookId }, 'webhook not paused: the runs of many webhooks keep ending the process');
        }
        await run(state);
      }
    },
    notify(webhookIds, reread) {
      for (const id of webhookIds) activeRuns.get(id)?.notify(reread);
    },
    stop() {
      isStopping = true;
      cancelRenewal?.();
      tools.writer.stop();
      for (const run of activeRuns.values()) run.stop();
    },
  };

  /**
   * BullMQ keeps only the last job that is added while one is active, so this job may replace the job of a wake-up. The cause of the
   * wake-up was committed before, so another read of the state finds it.
   */
  async function leaveJob(webhookId: string, wait: number): Promise<void> {
    await jobs.add(webhookId, wait);
    if (wait === 0) return;
    const state = await webhooks.readState(webhookId);
    const next = state === null ? null : waitBeforeSending(state);
    if (next !== null && next < wait - WAIT_TOLERANCE) await jobs.add(webhookId, next);
  }
}
