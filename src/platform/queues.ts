import { type JobsOptions, type Processor, Queue, Worker, type WorkerOptions } from 'bullmq';
import type { Log } from './log.ts';
import { type RedisClient, redisProblem } from './redis.ts';
import { withoutValues } from './text.ts';

/** The queues in Redis, their jobs, and how the workers take them. */

const SECOND = 1_000;

/** Jobs contain only ids. Everything else is read from MySQL when they run, and no secret ever reaches Redis. */
export interface ImportJob {
  customerId: string;
}
export interface DeliveryJob {
  webhookId: string;
}
export interface SourceJob {
  sourceId: string;
}

/** The names of all queues. */
export const QUEUES = {
  imports: 'imports',
  deliveries: 'deliveries',
  sources: 'sources',
} as const;

/** Ended jobs are kept for the dashboard only. Their results are in MySQL. */
const JOB_OPTIONS: JobsOptions = { removeOnComplete: { count: 100 }, removeOnFail: { count: 1_000 } };

/** Another worker takes over the job of a crashed worker after about 15 s, because the lock lasts 10 s and is checked every 5 s. */
export const WORKER_OPTIONS = {
  lockDuration: 10 * SECOND,
  stalledInterval: 5 * SECOND,
  // BullMQ's default (1) would fail a job for good after two crashes of its workers, whatever their cause. Jobs that crash their
  // worker are limited by `crash_count` in MySQL instead.
  maxStalledCount: 1_000_000,
  removeOnComplete: { count: 100 },
  removeOnFail: { count: 1_000 },
} satisfies Partial<WorkerOptions>;

/**
 * Jobs that one process runs at the same time. A delivery job mostly waits for its endpoint, which costs little. Jobs with hanging
 * endpoints, and runs that wait for new movements, must leave slots for the others. A run of a source mostly waits too, but its
 * thread takes 25 MB or more.
 */
export const CONCURRENCY = { imports: 8, deliveries: 5_000, sources: 1_000 } as const;

export interface Queues {
  imports: Queue<ImportJob>;
  /** All jobs of a webhook are in the same queue; see queueOf. */
  deliveries: readonly [DeliveryQueue, ...DeliveryQueue[]];
  sources: Queue<SourceJob>;
  /** All queues. */
  all: readonly Queue[];
  /** Writes a key beside each queue, which Redis removes after a minute. @throws when a node of Redis cannot be reached or refuses writes. */
  checkWrite(): Promise<void>;
  close(): Promise<void>;
}

type DeliveryQueue = Queue<DeliveryJob>;

/**
 * The names of the delivery queues. Several queues are spread over the nodes of a Redis Cluster.
 * @param count at least 1.
 */
export const deliveryQueueNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) =>
    index === 0 ? QUEUES.deliveries : `${QUEUES.deliveries}-${index + 1}`,
  );

/** The prefix of a queue's keys. Its hash tag keeps them in one slot of a Redis Cluster, as BullMQ's scripts need. */
export const prefixOf = (prefix: string, queue: string): string => `{${prefix}:${queue}}`;

/** The queue that contains the jobs of a webhook. */
const queueOf = <T>(queues: readonly [T, ...T[]], webhookId: string): T =>
  queues[Number(BigInt(webhookId) % BigInt(queues.length))] ?? queues[0];

/**
 * @param options.prefix lets several installations share one Redis.
 * @param options.deliveryQueues how many queues share the deliveries.
 */
export function openQueues(
  connection: RedisClient,
  { prefix, deliveryQueues }: { prefix: string; deliveryQueues: number },
): Queues {
  const open = <T>(name: string) => {
    const queue = new Queue<T, void, string, T, void, string>(name, {
      connection,
      prefix: prefixOf(prefix, name),
      defaultJobOptions: JOB_OPTIONS,
      // Otherwise, a queue asks Redis once for its version. If that command times out, all later commands of the queue fail.
      skipVersionCheck: true,
    });
    queue.on('error', () => {});
    return queue;
  };
  const imports = open<ImportJob>(QUEUES.imports);
  const sources = open<SourceJob>(QUEUES.sources);
  const [first, ...others] = deliveryQueueNames(deliveryQueues).map((name) => open<DeliveryJob>(name));
  const deliveries = [first as DeliveryQueue, ...others] as const;
  const all = [imports, ...deliveries, sources] as readonly Queue[];
  return {
    imports,
    deliveries,
    sources,
    all,
    checkWrite: async () => {
      await Promise.all(all.map((queue) => connection.set(queue.toKey('write-check'), '1', 'EX', 60)));
    },
    close: async () => {
      await Promise.all(all.map((queue) => queue.close()));
    },
  };
}

const JOBS_PER_PIPELINE = 1_000;

const deduplicationIdOf = (webhookId: string): string => `webhook-${webhookId}`;
const deduplicationIdOfCustomer = (customerId: string): string => `customer-${customerId}`;

/** Webhooks by the queue that has their jobs. */
export function groupByQueue(
  { deliveries }: Queues,
  webhookIds: readonly string[],
): ReadonlyMap<DeliveryQueue, string[]> {
  const groups = new Map<DeliveryQueue, string[]>();
  for (const id of webhookIds) {
    const queue = queueOf(deliveries, id);
    const group = groups.get(queue);
    if (group === undefined) groups.set(queue, [id]);
    else group.push(id);
  }
  return groups;
}

/**
 * Adds a job for each webhook. A webhook has at most one waiting or delayed job, so adding is idempotent. A delayed job is
 * rescheduled. If a job is active, the new one starts after it.
 * @param delay milliseconds until the jobs run.
 * @throws when Redis is unreachable. The reconciler then finds the due deliveries.
 */
export async function addDeliveryJobs(
  queues: Queues,
  webhookIds: readonly string[],
  delay = 0,
): Promise<void> {
  for (const [queue, ids] of groupByQueue(queues, webhookIds)) {
    for (let start = 0; start < ids.length; start += JOBS_PER_PIPELINE) {
      await queue.addBulk(
        ids.slice(start, start + JOBS_PER_PIPELINE).map((webhookId) => ({
          name: 'deliver',
          data: { webhookId },
          opts: {
            delay,
            deduplication: { id: deduplicationIdOf(webhookId), keepLastIfActive: true, reschedule: true },
          },
        })),
      );
    }
  }
}

/** The waiting, delayed or active job of a webhook, and the name of its queue; null if it has no job. */
export async function findDeliveryJob(
  { deliveries }: Queues,
  webhookId: string,
): Promise<{ queue: string; id: string } | null> {
  const queue = queueOf(deliveries, webhookId);
  const id = await queue.getDeduplicationJobId(deduplicationIdOf(webhookId));
  return id === null ? null : { queue: queue.name, id };
}

/**
 * Queues the imports of customers: a job for each customer, at the tail of the queue. A customer has at most one waiting job. If one is
 * active, the new one starts after it.
 * @throws when Redis is unreachable. The reconciler then finds the imports.
 */
export async function queueImports(queues: Queues, customerIds: readonly string[]): Promise<void> {
  await queues.imports.addBulk(
    customerIds.map((customerId) => ({
      name: 'import',
      data: { customerId },
      opts: { deduplication: { id: deduplicationIdOfCustomer(customerId), keepLastIfActive: true } },
    })),
  );
}

/**
 * Counts the webhooks without a job. BullMQ (6.7) keeps the deduplication key of a webhook as long as its job waits, is delayed or
 * is active.
 */
export async function countWebhooksWithoutJob(
  queues: Queues,
  redis: RedisClient,
  webhookIds: readonly string[],
): Promise<number> {
  const counts = [...groupByQueue(queues, webhookIds)].map(([queue, ids]) =>
    countMissing(
      redis,
      ids.map((id) => queue.toKey(`de:${deduplicationIdOf(id)}`)),
    ),
  );
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** Counts the customers without a job for their imports. */
export const countCustomersWithoutJob = (
  { imports }: Queues,
  redis: RedisClient,
  customerIds: readonly string[],
): Promise<number> =>
  countMissing(
    redis,
    customerIds.map((id) => imports.toKey(`de:${deduplicationIdOfCustomer(id)}`)),
  );

const countMissing = async (redis: RedisClient, keys: readonly string[]): Promise<number> =>
  keys.length === 0 ? 0 : keys.length - (await redis.exists(...keys));

/** Milliseconds between warnings. While Redis is unreachable, BullMQ reports every attempt to connect. */
const REPORT_EVERY = 30_000;

interface WorkerContext {
  connectWorker: () => RedisClient;
  prefix: string;
  log: Log;
}

/**
 * Starts a worker with the options that all workers share. A job that throws is logged, and the reconciler queues it again.
 * @param queue its name.
 * @param concurrency jobs at the same time.
 */
export function startWorker<Job>(
  { connectWorker, prefix, log }: WorkerContext,
  { queue, concurrency }: { queue: string; concurrency: number },
  process: Processor<Job, void>,
): Worker<Job, void> {
  const processWithoutValues: Processor<Job, void> = async (...job) => {
    try {
      await process(...job);
    } catch (error) {
      // BullMQ stores the message and the stack in Redis, which must not contain account data.
      if (error instanceof Error) {
        error.message = withoutValues(error.message);
        error.stack = withoutValues(error.stack ?? '');
      }
      throw error;
    }
  };
  const worker = new Worker<Job, void>(queue, processWithoutValues, {
    ...WORKER_OPTIONS,
    connection: connectWorker(),
    prefix: prefixOf(prefix, queue),
    concurrency,
  });
  worker.on('failed', (job, err) =>
    log.error({ err, queue, ...job?.data }, 'job interrupted; it continues within 10 s'),
  );
  let reported = Number.NEGATIVE_INFINITY;
  worker.on('error', (err) => {
    if (performance.now() - reported < REPORT_EVERY) return;
    reported = performance.now();
    log.warn(
      { err, queue },
      `Redis ${redisProblem(err) ?? 'has failed'}; work continues when it works again`,
    );
  });
  return worker;
}
