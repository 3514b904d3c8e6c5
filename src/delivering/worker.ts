import type { DeliveryJob } from '../queues/queues.ts';
import { wakeWebhooks } from '../queues/wake.ts';
import { startWorker } from '../queues/worker.ts';
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
export function startDeliveryWorker(runtime: Runtime, tuning: Partial<PumpOptions> = {}): Role {
  const { config, database, secrets, queues, log } = runtime;
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
  const worker = startWorker<DeliveryJob>(runtime, 'deliveries', (job) =>
    pump.run(job.data.webhookId, shutdown.signal),
  );
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
