import type { Queues } from './queues.ts';

/** At most this many jobs go to Redis in one pipeline. */
const PIPELINE = 1_000;

/**
 * Adds the job of each of these webhooks, brings one that is delayed forward, or has one follow the one that is active. Adding is
 * idempotent: there is at most one waiting or delayed job per webhook.
 * @param delay milliseconds until it shall run.
 * @throws when Redis is away; the reconciler then finds what is due.
 */
export async function addDeliveryJobs(
  queues: Queues,
  webhookIds: readonly string[],
  delay = 0,
): Promise<void> {
  for (let start = 0; start < webhookIds.length; start += PIPELINE) {
    await queues.deliveries.addBulk(
      webhookIds.slice(start, start + PIPELINE).map((webhookId) => ({
        name: 'deliver',
        data: { webhookId },
        opts: {
          delay,
          // While the job is active, the latest added is kept and starts after it; a delayed one is rescheduled.
          deduplication: { id: `webhook-${webhookId}`, keepLastIfActive: true, reschedule: true },
        },
      })),
    );
  }
}

/** Queues an import. The job's id is made of the import's: adding it twice is harmless. */
export async function queueImports(queues: Queues, importIds: readonly string[]): Promise<void> {
  await queues.imports.addBulk(
    importIds.map((importId) => ({
      name: 'import',
      data: { importId },
      opts: { jobId: `import-${importId}`, removeOnComplete: true, removeOnFail: true },
    })),
  );
}
