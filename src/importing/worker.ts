import { WaitingError } from 'bullmq';
import { wakeWebhooks } from '../delivering/wake.ts';
import type { ImportJob } from '../queues/queues.ts';
import { startWorker } from '../queues/worker.ts';
import type { Role, Runtime } from '../runtime.ts';
import { loadProfiles } from './formats/profiles/load.ts';
import { createImporter } from './importer.ts';
import { createStatementFormats } from './statements/formats.ts';

/** Runs the jobs of the queue `imports`. */
export function startImporterWorker(runtime: Runtime): Role {
  const { config, database, log } = runtime;
  const shutdown = new AbortController();
  const importer = createImporter({
    database,
    formats: createStatementFormats(loadProfiles(config.profilesDir)),
    wake: (webhookIds) => wakeWebhooks(runtime, webhookIds),
    log,
  });
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
