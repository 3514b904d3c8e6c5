import type { Role, Runtime } from '../database/runtime.ts';
import { createAddressGuard } from '../platform/address-guard.ts';
import {
  addDeliveryJobs,
  CONCURRENCY,
  type DeliveryJob,
  deliveryQueueNames,
  startWorker,
} from '../platform/queues.ts';
import { createMysqlPorts, systemClock } from './engine/ports.ts';
import { createRunner, type RunnerOptions, SHUTDOWN_GRACE } from './engine/runner.ts';
import { createAttemptTraces } from './posting/attempt-traces.ts';
import { createPoster } from './posting/post.ts';
import { listenForWakeUps } from './wake.ts';

/** The role `delivery`: a worker for the queue `deliveries`, a poster for all runs, and a listener for wake-ups. */

/**
 * Starts to take webhooks from their queue and to run their deliveries.
 * @param tuning the runner's schedule, time slice and so on, for tests that cannot wait for three days.
 */
export function startDeliveryWorker(runtime: Runtime, tuning: Partial<RunnerOptions> = {}): Role {
  const { config, database, secrets, queues, connectWorker, prefix, log, metrics, tracing } = runtime;
  const poster = createPoster({ guard: createAddressGuard({ allow: config.allowPrivateEndpoints }) });
  const runner = createRunner({
    ...createMysqlPorts(database, secrets),
    jobs: { add: (webhookId, delay) => addDeliveryJobs(queues, [webhookId], delay) },
    poster,
    clock: systemClock,
    random: Math.random,
    log,
    metrics: metrics.deliveries,
    traces: tracing === undefined ? undefined : createAttemptTraces(database, poster, tracing),
    ...tuning,
  });
  const { deliveryQueues } = config;
  listenForWakeUps({ connection: connectWorker(), prefix, deliveryQueues }, runner.notify);
  const workers = deliveryQueueNames(deliveryQueues).map((queue) =>
    startWorker<DeliveryJob>(
      runtime,
      { queue, concurrency: Math.ceil(CONCURRENCY.deliveries / deliveryQueues) },
      (job) => runner.runJob(job.data.webhookId),
    ),
  );
  return {
    name: 'delivery',
    async stop() {
      runner.stop();
      const cut = setTimeout(() => poster.abort(), SHUTDOWN_GRACE);
      await Promise.all(workers.map((worker) => worker.close()));
      clearTimeout(cut);
      await poster.close();
    },
  };
}
