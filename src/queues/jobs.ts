import type { Redis } from 'ioredis';
import type { Queues } from './queues.ts';

const JOBS_PER_PIPELINE = 1_000;

const deduplicationIdOf = (webhookId: string): string => `webhook-${webhookId}`;
const jobIdOf = (importId: string): string => `import-${importId}`;

/**
 * Adds a job for each webhook. A webhook has at most one waiting or delayed job, so adding is idempotent. A delayed job is
 * rescheduled. If a job is active, the new one starts after it.
 * @param delay milliseconds until the jobs run.
 * @throws when Redis is unreachable. The reconciler then finds what is due.
 */
export async function addDeliveryJobs(
  queues: Queues,
  webhookIds: readonly string[],
  delay = 0,
): Promise<void> {
  for (let start = 0; start < webhookIds.length; start += JOBS_PER_PIPELINE) {
    await queues.deliveries.addBulk(
      webhookIds.slice(start, start + JOBS_PER_PIPELINE).map((webhookId) => ({
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

/** Queues imports. The id of a job contains the import's id, so that adding it twice is harmless. */
export async function queueImports(queues: Queues, importIds: readonly string[]): Promise<void> {
  await queues.imports.addBulk(
    importIds.map((importId) => ({
      name: 'import',
      data: { importId },
      opts: { jobId: jobIdOf(importId), removeOnComplete: true, removeOnFail: true },
    })),
  );
}

/**
 * Counts the webhooks without a job. BullMQ (6.7) keeps the deduplication key of a webhook as long as its job waits, is delayed or
 * is active.
 */
export const countWebhooksWithoutJob = (
  { deliveries }: Queues,
  redis: Redis,
  webhookIds: readonly string[],
): Promise<number> =>
  countMissing(
    redis,
    webhookIds.map((id) => deliveries.toKey(`de:${deduplicationIdOf(id)}`)),
  );

/** Counts the imports without a job. */
export const countImportsWithoutJob = (
  { imports }: Queues,
  redis: Redis,
  importIds: readonly string[],
): Promise<number> =>
  countMissing(
    redis,
    importIds.map((id) => imports.toKey(jobIdOf(id))),
  );

const countMissing = async (redis: Redis, keys: readonly string[]): Promise<number> =>
  keys.length === 0 ? 0 : keys.length - (await redis.exists(...keys));
