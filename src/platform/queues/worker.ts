import { type Processor, Worker } from 'bullmq';
import type { Log } from '../log.ts';
import { prefixOf, WORKER_OPTIONS } from '../queues.ts';
import { withoutValues } from '../quoted-value.ts';
import type { RedisClient } from '../redis.ts';
import { redisProblem } from './errors.ts';

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
