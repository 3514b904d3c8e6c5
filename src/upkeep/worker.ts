import { dispatchEvents } from '../deliveries/events/dispatch-events.ts';
import {
  reportFailedDeliveries,
  reportFailingWebhooks,
  reportStalledDeliveries,
} from '../deliveries/events/webhook-events.ts';
import { reconcileDeliveries } from '../deliveries/reconcile.ts';
import { wakeWebhooks } from '../deliveries/wake.ts';
import { reportStuckImports } from '../imports/fail-import.ts';
import { dropDeadUploads } from '../imports/stage.ts';
import { reconcileImports } from '../imports/worker.ts';
import { makeSegments } from '../movements/segment-maker.ts';
import { isTransient } from '../platform/database/errors.ts';
import type { Log } from '../platform/log.ts';
import {
  addDeliveryJobs,
  countCustomersWithoutJob,
  countWebhooksWithoutJob,
  type MaintenanceJob,
  queueImports,
} from '../platform/queues/queues.ts';
import { startWorker } from '../platform/queues/worker.ts';
import type { Role, Runtime } from '../platform/runtime.ts';
import { reconcileSources } from '../sources/source-jobs.ts';
import { runDeletions } from './deletion/deletions.ts';
import { startLockedLoop } from './locked-loop.ts';
import { pruneIdempotencyKeys } from './retention/prune-idempotency-keys.ts';
import { removeOld } from './retention/retention.ts';
import { createSteps } from './retention/steps.ts';

const SECOND = 1_000;
const RECONCILE_EVERY = 10 * SECOND;
const SCHEDULER = 'reconcile';
const RETENTION_EVERY = 3_600 * SECOND;
const DELETIONS_EVERY = 5 * SECOND;

/**
 * Every 10 s: queues unfinished imports, due webhooks and due sources, as recorded in MySQL, reports operational events, drops dead uploads and expired idempotency keys, and makes
 * listing segments. A
 * BullMQ job scheduler starts this in only one of the maintenance processes each time.
 *
 * Longer work does not use the queue, and goes on while Redis is unreachable: removing what is old (every hour), and deleting
 * accounts and customers (looked for every 5 s).
 */
export function startMaintenanceWorker(runtime: Runtime): Role {
  const { database, queues, redis, log, metrics } = runtime;
  const steps: Record<string, () => Promise<unknown>> = {
    imports: () =>
      reconcileImports(database, async (ids) => {
        const missing = await countCustomersWithoutJob(queues, redis, ids);
        await queueImports(queues, ids);
        metrics.reconciler.repaired('imports', missing);
      }),
    webhooks: () =>
      reconcileDeliveries(database, async (ids) => {
        const missing = await countWebhooksWithoutJob(queues, redis, ids);
        await addDeliveryJobs(queues, ids);
        metrics.reconciler.repaired('deliveries', missing);
      }),
    sources: () => reconcileSources(runtime),
    events: () => reportEvents(runtime),
    'dead uploads': () => dropDeadUploads(database),
    'idempotency keys': () => pruneIdempotencyKeys(database),
    // Last, because nothing waits for it.
    segments: () => makeSegments(database),
  };
  const worker = startWorker<MaintenanceJob>(runtime, 'maintenance', () => runSteps(steps, log));

  // The scheduler is stored in Redis, and is lost when Redis is emptied. If the clock was set back, its next run is as far in the
  // future. In both cases it is added again.
  const keepScheduled = async () => {
    try {
      const scheduler = await queues.maintenance.getJobScheduler(SCHEDULER);
      const isLate = scheduler?.next !== undefined && scheduler.next > Date.now() + 2 * RECONCILE_EVERY;
      if (isLate) await queues.maintenance.removeJobScheduler(SCHEDULER);
      if (isLate || scheduler === undefined) {
        await queues.maintenance.upsertJobScheduler(SCHEDULER, { every: RECONCILE_EVERY });
      }
    } catch (err) {
      log.warn({ err }, 'reconciler not scheduled; trying again in 10 s');
    }
  };
  void keepScheduled();
  const timer = setInterval(keepScheduled, RECONCILE_EVERY);

  const retention = startLockedLoop(runtime, { name: 'retention', every: RETENTION_EVERY }, (signal) =>
    passRetention(runtime, signal),
  );
  const deletions = startLockedLoop(
    runtime,
    { name: 'deletions', every: DELETIONS_EVERY },
    async (signal) => {
      await runDeletions(runtime, createSteps({ signal }));
    },
  );

  return {
    name: 'maintenance',
    async stop() {
      clearInterval(timer);
      await Promise.all([retention.stop(), deletions.stop(), worker.close()]);
    },
  };
}

/** Runs each step, whatever becomes of the others. A step that fails runs again with the next pass. */
export async function runSteps(
  steps: Readonly<Record<string, () => Promise<unknown>>>,
  log: Log,
): Promise<void> {
  const results: Record<string, unknown> = {};
  for (const [step, run] of Object.entries(steps)) {
    try {
      results[step] = await run();
    } catch (err) {
      log[isTransient(err) ? 'warn' : 'error'](
        { err, step },
        'a step of the reconciler failed; it is tried again in 10 s',
      );
    }
  }
  log.debug(results, 'reconciled');
}

/**
 * Records the operational events that are found by looking, and makes the deliveries of all events. Others are recorded in the
 * transaction of what they report.
 * @returns the number of webhooks that have deliveries of events now.
 */
export async function reportEvents(runtime: Runtime): Promise<number> {
  const { database, log } = runtime;
  await reportFailingWebhooks(database);
  await reportFailedDeliveries(database);
  await reportStalledDeliveries(database);
  await reportStuckImports(database);
  const webhookIds = await dispatchEvents(database);
  // The reconciler finds webhooks that are not woken here.
  await wakeWebhooks(runtime, webhookIds, { reread: true }).catch((err: unknown) =>
    log.warn({ err }, 'webhooks with operational events not woken yet'),
  );
  return webhookIds.length;
}

/**
 * Removes what is old, once through everything, and counts the pass.
 * @param signal ends it after the current step. A pass that was stopped counts neither as done nor as failed.
 * @throws what MySQL throws.
 */
export async function passRetention(
  {
    database,
    config,
    metrics: { retention: metrics },
    log,
  }: Pick<Runtime, 'database' | 'config' | 'metrics' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const steps = createSteps({ signal });
    const removed = await removeOld({ database, retention: config.retention, steps, metrics });
    if (signal.aborted) return;
    metrics.ended('done');
    log.info(removed, 'retention done');
  } catch (error) {
    metrics.ended('failed');
    throw error;
  }
}
