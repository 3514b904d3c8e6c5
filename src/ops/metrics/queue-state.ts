import type { Queues } from '../../queues/queues.ts';

/** The jobs of one queue by state, and how many processes work on them. */
export interface QueueState {
  name: string;
  jobs: Record<'waiting' | 'active' | 'delayed' | 'failed', number>;
  workers: number;
}

/** Reads the state of all queues from Redis. It counts jobs without reading them, and looks at the list of Redis' clients. */
export const readQueueStates = ({
  imports,
  deliveries,
  sources,
  maintenance,
}: Queues): Promise<QueueState[]> =>
  Promise.all(
    [imports, deliveries, sources, maintenance].map(async (queue) => {
      const [jobs, workers] = await Promise.all([
        queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
        queue.getWorkersCount(),
      ]);
      const { waiting = 0, active = 0, delayed = 0, failed = 0 } = jobs;
      return { name: queue.name, jobs: { waiting, active, delayed, failed }, workers };
    }),
  );
