import { addDeliveryJobs } from '../queues/jobs.ts';
import type { DeliveryJob } from '../queues/queues.ts';
import { startWorker } from '../queues/worker.ts';
import type { Role, Runtime } from '../runtime.ts';
import { createAddressGuard } from './posting/address-guard.ts';
import { createPoster } from './posting/post.ts';
import { createRunner, type RunnerOptions } from './runner.ts';
import { listenForWakeUps } from './wake.ts';

/** How long a shutdown lets POSTs in flight end by themselves; those it cuts short do not count as attempts. */
const SHUTDOWN_GRACE = 4_000;

/**
 * Takes webhooks from their queue and runs their deliveries.
 * @param tuning the runner's schedule, time slice and the like, for tests that cannot wait for three days.
 */
export function startDeliveryWorker(runtime: Runtime, tuning: Partial<RunnerOptions> = {}): Role {
  const { config, database, secrets, queues, connectWorker, prefix, log } = runtime;
  const poster = createPoster({ guard: createAddressGuard({ allow: config.allowPrivateEndpoints }) });
  const runner = createRunner({
    database,
    secrets,
    poster,
    wake: (webhookId, delay) => addDeliveryJobs(queues, [webhookId], delay),
    log,
    ...tuning,
  });
  listenForWakeUps({ connection: connectWorker(), prefix }, runner.notify);
  const worker = startWorker<DeliveryJob>(runtime, 'deliveries', (job) => runner.run(job.data.webhookId));
  return {
    name: 'delivery',
    async stop() {
      runner.stop();
      const cut = setTimeout(() => poster.abort(), SHUTDOWN_GRACE);
      await worker.close();
      clearTimeout(cut);
      await poster.close();
    },
  };
}
