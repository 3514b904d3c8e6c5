import { Worker } from 'bullmq';
import { CONCURRENCY, type DeliveryJob, QUEUES, WORKER_OPTIONS } from '../queues/queues.ts';
import { wakeWebhooks } from '../queues/wake.ts';
import type { Role, Runtime } from '../runtime.ts';
import { createAddressGuard } from './address-guard.ts';
import { createPoster } from './post.ts';
import { createPump, type PumpOptions } from './pump.ts';

/** How long a shutdown lets POSTs in flight end by themselves; those it cuts short do not count as attempts. */
const SHUTDOWN_GRACE = 4_000;

/**
 * Takes webhooks from their queue and drains them.
 * @param tuning the pump's schedule, time slice and the like, for tests that cannot wait for three days.
 */
export function startDeliveryWorker(
  { config, database, secrets, queues, connectWorker, prefix, log }: Runtime,
  tuning: Partial<PumpOptions> = {},
): Role {
  const shutdown = new AbortController();
  const poster = createPoster({ guard: createAddressGuard({ allow: config.allowPrivateEndpoints }) });
  const pump = createPump({
    database,
    secrets,
    poster,
    wake: (webhookId, delay) => wakeWebhooks(queues, [webhookId], delay),
    log,
    ...tuning,
  });
  const worker = new Worker<DeliveryJob, void>(
    QUEUES.deliveries,
    (job) => pump.run(job.data.webhookId, shutdown.signal),
    { ...WORKER_OPTIONS, connection: connectWorker(), prefix, concurrency: CONCURRENCY.deliveries },
  );
  worker.on('failed', (job, err) =>
    log.error({ err, webhookId: job?.data.webhookId }, 'deliveries interrupted; they go on within 10 s'),
  );
  worker.on('error', (err) => log.warn({ err }, 'deliveries queue unreachable'));
  return {
    name: 'delivery',
    async stop() {
      shutdown.abort();
      const cut = setTimeout(() => poster.abort(), SHUTDOWN_GRACE);
      await worker.close();
      clearTimeout(cut);
      pump.close();
      await poster.close();
    },
  };
}
