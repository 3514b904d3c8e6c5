import { Counter, type Registry } from 'prom-client';

export interface ReconcilerMetrics {
  /** Counts work that was due and had no job, until the reconciler added one. */
  repaired(queue: 'imports' | 'deliveries', jobs: number): void;
}

export function createReconcilerMetrics(registry: Registry): ReconcilerMetrics {
  const repairs = new Counter({
    name: 'ledgerbell_reconciler_repairs_total',
    help: 'Unfinished imports, and webhooks with something due, that had no job until the reconciler added one.',
    labelNames: ['queue'],
    registers: [registry],
  });
  for (const queue of ['imports', 'deliveries']) repairs.inc({ queue }, 0);
  return {
    repaired(queue, jobs) {
      if (jobs > 0) repairs.inc({ queue }, jobs);
    },
  };
}
