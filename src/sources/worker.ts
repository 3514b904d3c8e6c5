import type { Role, Runtime } from '../database/runtime.ts';
import { createAddressGuard } from '../platform/address-guard.ts';
import { createBudget } from '../platform/budget.ts';
import { CONCURRENCY, QUEUES, queueImports, type SourceJob, startWorker } from '../platform/queues.ts';
import { customerFolder } from './connectors/settings.ts';
import { createThreadedKinds } from './connectors/threaded-connector.ts';
import { createCollector } from './runs/collector.ts';
import { unscheduleSource } from './source-jobs.ts';

/**
 * How many runs a process has at a time, in all and of one customer. A run that would wait for longer than `patience` is left to the
 * reconciler, because its source stays due.
 */
const RUNS = { total: 12, perOwner: 4, patience: 60_000 };

/** Index: the primary key. */
const READ_CUSTOMER_ID = 'SELECT customer_id FROM sources WHERE id = ?';

/** Runs the jobs of the queue `sources`. A part of the role `importer`. */
export function startCollectorWorker(runtime: Runtime): Role {
  const { config, database, secrets, queues, log, tracing } = runtime;
  const shutdown = new AbortController();
  const collector = createCollector({
    database,
    secrets,
    guard: createAddressGuard({ allow: config.allowPrivateEndpoints, subject: 'source' }),
    folderOf: (customerId) => customerFolder(config.sourcesDir, customerId),
    queueImport: ({ customerId }) => queueImports(queues, [customerId]),
    log,
    tracing,
    kinds: createThreadedKinds(config.allowPrivateEndpoints),
  });
  // It counts runs here, not bytes.
  const turns = createBudget(RUNS);
  const worker = startWorker<SourceJob>(
    runtime,
    { queue: QUEUES.sources, concurrency: CONCURRENCY.sources },
    async ({ data: { sourceId } }) => {
      const [source] = await database.query<{ customer_id: string }[]>(READ_CUSTOMER_ID, [sourceId]);
      const release = await turns.reserve(source?.customer_id ?? '', 1);
      if (release === null) return;
      try {
        if (shutdown.signal.aborted) return;
        let outcome = await collector.run(sourceId, shutdown.signal);
        // A run may have been requested in the meantime. No job was added for it, because this job existed.
        while ((outcome === 'done' || outcome === 'failed') && !shutdown.signal.aborted)
          outcome = await collector.run(sourceId, shutdown.signal);
        // The scheduler was not removed when the source was paused or deleted, because Redis could not be reached.
        if (outcome === 'inactive') await unscheduleSource(queues, sourceId);
      } finally {
        release();
      }
    },
  );
  return {
    name: 'collector',
    async stop() {
      shutdown.abort();
      await worker.close();
    },
  };
}
