import { reconcileSources } from '../collecting/reconcile.ts';
import { runDeletions } from '../deleting/deletions.ts';
import { reconcileDeliveries } from '../delivering/reconcile.ts';
import { pruneIdempotencyKeys } from '../http/idempotent-requests.ts';
import { dropDeadUploads } from '../importing/dead-uploads.ts';
import { reconcileImports } from '../importing/reconcile.ts';
import { makeSegments } from '../listing/segment-maker.ts';
import {
  addDeliveryJobs,
  countImportsWithoutJob,
  countWebhooksWithoutJob,
  queueImports,
} from '../queues/jobs.ts';
import type { MaintenanceJob } from '../queues/queues.ts';
import { startWorker } from '../queues/worker.ts';
import { createSteps } from '../retention/steps.ts';
import type { Role, Runtime } from '../runtime.ts';
import { startLockedLoop } from './locked-loop.ts';
import { reportEvents } from './report-events.ts';
import { passRetention } from './retention-pass.ts';

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
 * What takes longer does not use the queue, and goes on while Redis is unreachable: removing what is old (every hour), and deleting
 * accounts and customers (looked for every 5 s).
 */
export function startMaintenanceWorker(runtime: Runtime): Role {
  const { database, queues, redis, log, metrics } = runtime;
  const worker = startWorker<MaintenanceJob>(runtime, 'maintenance', async () => {
    const imports = await reconcileImports(database, async (ids) => {
      const missing = await countImportsWithoutJob(queues, redis, ids);
      await queueImports(queues, ids);
      metrics.reconciler.repaired('imports', missing);
    });
    const webhooks = await reconcileDeliveries(database, async (ids) => {
      const missing = await countWebhooksWithoutJob(queues, redis, ids);
      await addDeliveryJobs(queues, ids);
      metrics.reconciler.repaired('deliveries', missing);
    });
    const sources = await reconcileSources(runtime);
    const events = await reportEvents(runtime);
    const dropped = await dropDeadUploads(database);
    const pruned = await pruneIdempotencyKeys(database);
    // Last, because nothing waits for it.
    const segments = await makeSegments(database);
    log.debug({ imports, webhooks, sources, events, dropped, pruned, segments }, 'reconciled');
  });

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
