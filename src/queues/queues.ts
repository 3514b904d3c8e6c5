import { type JobsOptions, Queue, type WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';

const SECOND = 1_000;

/** Jobs carry ids only: what they need is read from MySQL when they run, and no secret ever reaches Redis. */
export interface ImportJob {
  importId: string;
}
export interface DeliveryJob {
  webhookId: string;
}
export type MaintenanceJob = Record<string, never>;

/** Every queue of the product, as data. */
export const QUEUES = { imports: 'imports', deliveries: 'deliveries', maintenance: 'maintenance' } as const;

/** A run that ended is of interest for a while on the dashboard; what came of it stands in MySQL. */
const JOB_OPTIONS: JobsOptions = { removeOnComplete: { count: 100 }, removeOnFail: { count: 1_000 } };

/** A crashed worker's job is taken over about 15 s later (lock 10 s, looked for every 5 s). */
export const WORKER_OPTIONS = {
  lockDuration: 10 * SECOND,
  stalledInterval: 5 * SECOND,
  // BullMQ's own limit (1) would fail a job for good after two crashes of its workers, whatever their cause.
  // What crashes a worker is bounded by the crashes that MySQL counts.
  maxStalledCount: 1_000_000,
  removeOnComplete: { count: 100 },
  removeOnFail: { count: 1_000 },
} satisfies Partial<WorkerOptions>;

/**
 * How many jobs one process has in hand at once. A delivery job mostly waits for a subscriber, and costs little while it
 * does: endpoints that hang until their timeout, and runs that wait a moment for more, must leave slots for the others.
 */
export const CONCURRENCY = { imports: 2, deliveries: 5_000, maintenance: 1 } as const;

export interface Queues {
  imports: Queue<ImportJob>;
  deliveries: Queue<DeliveryJob>;
  maintenance: Queue<MaintenanceJob>;
  close(): Promise<void>;
}

/** @param prefix what BullMQ's keys start with, so that several installations can share one Redis. */
export function openQueues(connection: Redis, prefix: string): Queues {
  const open = <T>(name: string) => {
    const queue = new Queue<T, void, string, T, void, string>(name, {
      connection,
      prefix,
      defaultJobOptions: JOB_OPTIONS,
    });
    queue.on('error', () => {});
    return queue;
  };
  const imports = open<ImportJob>(QUEUES.imports);
  const deliveries = open<DeliveryJob>(QUEUES.deliveries);
  const maintenance = open<MaintenanceJob>(QUEUES.maintenance);
  return {
    imports,
    deliveries,
    maintenance,
    close: async () => {
      await Promise.all([imports.close(), deliveries.close(), maintenance.close()]);
    },
  };
}
