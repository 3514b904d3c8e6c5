import { Worker } from 'bullmq';
import { cancelLeftovers } from '../delivering/cancel.ts';
import { reconcileDeliveries } from '../delivering/reconcile.ts';
import { dropBrokenUploads, reconcileImports } from '../importing/reconcile.ts';
import { CONCURRENCY, type MaintenanceJob, QUEUES, WORKER_OPTIONS } from '../queues/queues.ts';
import { queueImports, wakeWebhooks } from '../queues/wake.ts';
import type { Role, Runtime } from '../runtime.ts';

const SECOND = 1_000;
const RECONCILE_EVERY = 10 * SECOND;
const SCHEDULER = 'reconcile';

/**
 * Rebuilds what Redis has forgotten from what MySQL knows, every 10 s. A BullMQ job scheduler sees to it that of any
 * number of maintenance processes one does it each time.
 */
export function startMaintenanceWorker({ database, queues, connectWorker, prefix, log }: Runtime): Role {
  const worker = new Worker<MaintenanceJob, void>(
    QUEUES.maintenance,
    async () => {
      const imports = await reconcileImports(database, (ids) => queueImports(queues, ids));
      const webhooks = await reconcileDeliveries(database, (ids) => wakeWebhooks(queues, ids));
      const cancelled = await cancelLeftovers(database);
      const dropped = await dropBrokenUploads(database);
      log.debug({ imports, webhooks, cancelled, dropped }, 'reconciled');
    },
    { ...WORKER_OPTIONS, connection: connectWorker(), prefix, concurrency: CONCURRENCY.maintenance },
  );
  worker.on('failed', (_job, err) =>
    log.error({ err }, 'reconciling interrupted; it is repeated within 10 s'),
  );
  worker.on('error', (err) => log.warn({ err }, 'maintenance queue unreachable'));

  // The scheduler itself lives in Redis, and is forgotten with everything else when Redis is emptied.
  const keepScheduled = async () => {
    try {
      if ((await queues.maintenance.getJobScheduler(SCHEDULER)) === undefined) {
        await queues.maintenance.upsertJobScheduler(SCHEDULER, { every: RECONCILE_EVERY });
      }
    } catch (err) {
      log.warn({ err }, 'reconciler not scheduled; trying again in 10 s');
    }
  };
  void keepScheduled();
  const timer = setInterval(keepScheduled, RECONCILE_EVERY);

  return {
    name: 'maintenance',
    async stop() {
      clearInterval(timer);
      await worker.close();
    },
  };
}
