import type { DataSource } from 'typeorm';
import { isConnectionError } from '../database/errors.ts';
import type { Role, Runtime } from '../database/runtime.ts';
import type { SecretBox } from '../database/secret-box.ts';
import { tryTransaction } from '../database/transaction.ts';
import { createAddressGuard } from '../platform/address-guard.ts';
import { createBatcher } from '../platform/batcher.ts';
import {
  addDeliveryJobs,
  CONCURRENCY,
  type DeliveryJob,
  deliveryQueueNames,
  startWorker,
} from '../platform/queues.ts';
import { systemClock } from '../platform/system-clock.ts';
import { type LeaseRequest, renewLeases, takeLeases } from '../webhook-record/lease.ts';
import { expandReplay } from './engine/expand-replay.ts';
import { openMovementLog } from './engine/movement-log.ts';
import type { EnginePorts, RunnerOptions } from './engine/ports.ts';
import { claimProbe, endProbe } from './engine/probe.ts';
import { recordResults } from './engine/record-results.ts';
import { readRetries } from './engine/retries.ts';
import { createRunner } from './engine/runner.ts';
import type { RecentHealth } from './engine/shared-health.ts';
import { disableWebhook, quarantineWebhook } from './engine/webhook-status.ts';
import { createAttemptTraces } from './posting/attempt-traces.ts';
import { createPoster } from './posting/post.ts';
import { openSettings } from './posting/request.ts';
import { wakeDue } from './reconcile.ts';
import { listenForWakeUps } from './wake.ts';
import { readStates } from './webhook-state.ts';

/** The role `delivery`: a worker for the queue `deliveries`, a poster for all runs, and a listener for wake-ups. Leads the delivery engine to MySQL. */

type MysqlPorts = Pick<EnginePorts, 'movementLog' | 'retries' | 'webhooks' | 'results'>;

/** The ports of the delivery engine that lead to MySQL. */
export function createMysqlPorts(
  database: DataSource,
  secrets: SecretBox,
  wakeAfterProbe: () => void = () => {},
): MysqlPorts {
  // A webhook that cannot be read must not fail the others, so they are tried one by one after a failure.
  const recent: RecentHealth = new Map();
  const afterFailure = (error: unknown) => (isConnectionError(error) ? 'fail' : 'alone');
  return {
    movementLog: openMovementLog(database),
    retries: {
      read: (webhookId, options) => readRetries(database, webhookId, options),
      expandReplay: (webhookId) => expandReplay(database, webhookId),
    },
    webhooks: {
      readState: createBatcher((ids: readonly string[]) => readStates(database, ids), { afterFailure }),
      openSettings: (settings) => openSettings(settings, secrets),
      takeLease: createBatcher((requests: readonly LeaseRequest[]) => takeLeases(database, requests), {
        afterFailure,
      }),
      renewLeases: (leases) => tryTransaction(database, (sql) => renewLeases(sql, leases)),
      disable: (webhook, reason) => disableWebhook(database, webhook, reason),
      claimProbe: (webhook) => claimProbe(database, webhook),
      endProbe: (webhook) => endProbe(database, webhook),
      wakeAfterProbe,
      quarantine: (webhook, cause) => quarantineWebhook(database, webhook, cause),
    },
    results: { record: (records) => recordResults(database, records, recent) },
  };
}

/**
 * Starts to take webhooks from their queue and to run their deliveries.
 * @param tuning the runner's schedule, time slice and so on, for tests that cannot wait for three days.
 */
export function startDeliveryWorker(runtime: Runtime, tuning: Partial<RunnerOptions> = {}): Role {
  const { config, database, secrets, queues, connectWorker, prefix, dns, log, metrics, tracing } = runtime;
  const poster = createPoster({
    guard: createAddressGuard({ allow: config.allowPrivateEndpoints, onDnsAnswer: dns.answered }),
  });
  const runner = createRunner({
    ...createMysqlPorts(database, secrets, () => wakeDue(runtime)),
    jobs: { add: (webhookId, delay) => addDeliveryJobs(queues, [webhookId], delay) },
    poster,
    dns,
    clock: systemClock,
    random: Math.random,
    log,
    metrics: metrics.deliveries,
    traces: tracing === undefined ? undefined : createAttemptTraces(database, poster, tracing),
    ...tuning,
  });
  const { deliveryQueues } = config;
  listenForWakeUps(
    { connection: connectWorker(), prefix, deliveryQueues },
    runner.notify,
    runner.notifyTemplates,
  );
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

/** How long a shutdown waits for POSTs in flight. POSTs that it cuts short after that do not count as attempts. Milliseconds. */
export const SHUTDOWN_GRACE = 4_000;
