import { WaitingError, Worker } from 'bullmq';
import { CONCURRENCY, type ImportJob, QUEUES, WORKER_OPTIONS } from '../queues/queues.ts';
import { wakeWebhooks } from '../queues/wake.ts';
import type { Role, Runtime } from '../runtime.ts';
import { createImporter } from './importer.ts';

/** Takes imports from their queue and works them off. */
export function startImporterWorker({ database, queues, connectWorker, prefix, log }: Runtime): Role {
  const shutdown = new AbortController();
  const importer = createImporter({ database, wake: (webhookIds) => wakeWebhooks(queues, webhookIds), log });
  const worker = new Worker<ImportJob, void>(
    QUEUES.imports,
    async (job, token) => {
      const outcome = await importer.run(job.data.importId, shutdown.signal);
      if (outcome === 'given back') {
        await job.moveToWait(token);
        throw new WaitingError();
      }
    },
    { ...WORKER_OPTIONS, connection: connectWorker(), prefix, concurrency: CONCURRENCY.imports },
  );
  worker.on('failed', (job, err) =>
    log.error({ err, importId: job?.data.importId }, 'import interrupted; it is tried again within 10 s'),
  );
  worker.on('error', (err) => log.warn({ err }, 'imports queue unreachable'));
  return {
    name: 'importer',
    async stop() {
      shutdown.abort();
      await worker.close();
    },
  };
}
