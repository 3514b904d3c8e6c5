import { waitBeforeSending } from '../../webhook-record/waiting.ts';
import { RETRY_DELAYS } from '../run/schedule.ts';
import type { RunEnd } from '../run/types.ts';
import { CRASHED, MAX_CRASHES, type WebhookState } from '../webhook-state.ts';
import { type ActiveRun, type RunTools, startRun } from './active-run.ts';
import type { Runner, RunnerOptions } from './ports.ts';
import { createPostQueue, shareAmong } from './post-queue.ts';
import { createLeaseRenewal } from './renew-leases.ts';
import { createResultWriter, ResultsRefusedError } from './result-writer.ts';

/**
 * The story of a delivery. A wake-up (wake.ts) has added the webhook's job.
 *
 * 1. `runJob` reads the webhook's state, and ends if nothing is due. Jobs that it leaves say when to look again.
 * 2. `run` takes the lease: across all processes, one run at a time sends for a webhook. Another run may have the lease, or lose it to this one.
 * 3. `startRun` (active-run.ts) carries out what the state machine (run/run.ts) decides: it reads the log and the due retries, sends POSTs, and records results.
 * 4. The last record gives the lease back. `runJob` reads the state once more, and makes another run while something is due.
 *
 * The state machine answers for what can go wrong within a run; it ends with a `RunEnd`. Beyond a run, a webhook whose results MySQL refuses, or whose
 * runs keep ending their process, is paused.
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

/** While the DNS servers are silent, a webhook looks again after this long. Milliseconds. */
const DNS_WAIT = 5 * SECOND;

/** Two reads of the same due time give slightly different moments. Smaller differences than this are ignored. Milliseconds. */
const WAIT_TOLERANCE = 100;

const ownerOf = ({ settings: { id, customer_id, template_id } }: WebhookState) => ({
  id,
  customerId: customer_id,
  templateId: template_id,
});

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
  const { webhooks, jobs, clock, dns } = ports;
  const lingering = new Set<ActiveRun>();
  const tools: RunTools = {
    ...ports,
    log,
    traces,
    writer: createResultWriter(ports.results, clock, {
      log,
      metrics,
      onLocked: (lease) => leases.renewNow(lease),
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
  const leases = createLeaseRenewal({ webhooks, clock, log }, (id, at) => activeRuns.get(id)?.renewed(at));
  let isStopping = false;

  /** @returns why the run ended; null: it did not get its lease, or the webhook was paused. */
  async function run(state: WebhookState): Promise<RunEnd | null> {
    const { id: webhookId, revision } = state.settings;
    const activeRun = startRun(tools, state, {
      retryDelays: delays,
      sliceLength: timeSlice,
      longestRun,
      linger,
    });
    // Registered before it takes the lease. Once MySQL shows the lease, wake-ups are only published to the run and add no job.
    activeRuns.set(webhookId, activeRun);
    try {
      const began = clock.now();
      const { lastToken, lastWrites } = state;
      const lease = await webhooks.takeLease({ webhookId, revision, lastToken, lastWrites });
      if (lease === null) return null;
      leases.add(lease);
      try {
        const end = await activeRun.send(lease, began);
        if (end === 'lost') {
          metrics?.leaseLost();
          log.warn({ webhookId }, 'lease lost: another run sends on');
        }
        return end;
      } catch (err) {
        if (!(err instanceof ResultsRefusedError)) throw err;
        const outcome = await webhooks.quarantine(ownerOf(state), err.message);
        if (outcome !== 'paused') throw err;
        log.error({ err, webhookId }, 'webhook paused: MySQL refuses the results of its deliveries');
        return null;
      } finally {
        leases.remove(lease);
      }
    } finally {
      if (activeRuns.get(webhookId) === activeRun) activeRuns.delete(webhookId);
      lingering.delete(activeRun);
    }
  }

  /** Pauses a webhook whose runs keep ending the process. @returns false: it is not paused, because many do. */
  async function pauseCrashing(state: WebhookState): Promise<boolean> {
    const webhookId = state.settings.id;
    const outcome = await webhooks.quarantine(ownerOf(state), CRASHED);
    if (outcome === 'paused') log.error({ webhookId }, 'webhook paused: its runs keep ending the process');
    if (outcome !== 'many') return true;
    log.error({ webhookId }, 'webhook not paused: the runs of many webhooks keep ending the process');
    return false;
  }

  /**
   * As `run`. While the circuit of a template is half-open, one of its webhooks probes the endpoint for all.
   * @returns probed: another webhook has the right to probe.
   */
  async function runOrProbe(state: WebhookState): Promise<RunEnd | 'probed' | null> {
    const { id, template_id: templateId, recovery_successes } = state.settings;
    if (templateId === null || recovery_successes !== 0) return run(state);
    if (!(await webhooks.claimProbe({ id, templateId }))) return 'probed';
    try {
      return await run(state);
    } finally {
      await webhooks.endProbe({ id, templateId });
    }
  }

  /** Makes a run, unless something is against it. @returns whether the webhook's state must be read again immediately. */
  async function send(state: WebhookState): Promise<boolean> {
    if (state.crashCount >= MAX_CRASHES && (await pauseCrashing(state))) return false;
    const end = dns?.mayAsk() === false ? 'no DNS' : await runOrProbe(state);
    if (end === 'no DNS') await jobs.add(state.settings.id, DNS_WAIT);
    return end !== 'no DNS' && end !== 'probed';
  }

  return {
    async runJob(webhookId) {
      const sliceEnd = clock.now() + timeSlice;
      for (;;) {
        const state = await webhooks.readState(webhookId);
        if (state?.settings.status !== 'active') return;
        const { openFor } = state;
        // The reconciler finds what waits for the probe of another webhook.
        if (state.probedFor !== null) return;
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
        if (!(await send(state))) return;
      }
    },
    notify(webhookIds, reread) {
      for (const id of webhookIds) activeRuns.get(id)?.notify(reread);
    },
    notifyTemplates(templateIds) {
      for (const run of activeRuns.values())
        if (run.templateId !== null && templateIds.includes(run.templateId)) run.notify(true);
    },
    stop() {
      isStopping = true;
      dns?.stop();
      leases.stop();
      tools.writer.stop();
      for (const run of activeRuns.values()) run.stop();
    },
  };

  /**
   * BullMQ keeps only the last job that is added while one is active, so each job that is added here may replace the job of a wake-up. The cause
   * of the wake-up was committed before, so another read of the state finds it. If something is due earlier, an earlier job is left in the same way.
   */
  async function leaveJob(webhookId: string, wait: number): Promise<void> {
    const dueAt = clock.now() + wait;
    await jobs.add(webhookId, wait);
    if (wait === 0) return;
    const state = await webhooks.readState(webhookId);
    const next = state === null ? null : waitBeforeSending(state);
    if (next !== null && clock.now() + next < dueAt - WAIT_TOLERANCE) await leaveJob(webhookId, next);
  }
}
