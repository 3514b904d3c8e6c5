import { WaitingError } from 'bullmq';
import { wakeWebhooks } from '../delivering/wake.ts';
import type { ImportJob } from '../queues/queues.ts';
import { startWorker } from '../queues/worker.ts';
import type { Role, Runtime } from '../runtime.ts';
import { FORMATS } from './formats/index.ts';
import { createImporter } from './importer.ts';
import { STATEMENT_FORMATS, type StatementFormats } from './statements/formats.ts';

/** Runs the jobs of the queue `imports`. */
export function startImporterWorker(runtime: Runtime, formats: StatementFormats): Role {
  const { database, log, metrics, tracing } = runtime;
  const shutdown = new AbortController();
  const importer = createImporter({
    database,
    formats,
    wake: (webhookIds) => wakeWebhooks(runtime, webhookIds),
    log,
    metrics: metrics.imports,
    tracing,
  });
  metrics.imports.announce([...Object.keys(FORMATS), 'auto', ...STATEMENT_FORMATS]);
  const worker = startWorker<ImportJob>(runtime, 'imports', async (job, token) => {
    const outcome = await importer.run(job.data.importId, shutdown.signal, job.attemptsStarted > 1);
    if (outcome === 'given back') {
      await job.moveToWait(token);
      throw new WaitingError();
    }
  });
  return {
    name: 'importer',
    async stop() {
      shutdown.abort();
      await worker.close();
    },
  };
}
