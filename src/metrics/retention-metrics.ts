import { Counter, Gauge, type Registry } from 'prom-client';

const KINDS = [
  'deliveries',
  'attempts',
  'imports',
  'movements',
  'replays',
  'filters',
  'webhooks',
  'sources',
  'events',
] as const;

/** What retention removes. Attempts that go with their delivery do not count. */
export type RemovedKind = (typeof KINDS)[number];

const OUTCOMES = ['done', 'failed'] as const;

export interface RetentionMetrics {
  removed(kind: RemovedKind, count: number): void;
  /** Counts a pass that has ended. One that was stopped with its process has not. */
  ended(outcome: (typeof OUTCOMES)[number]): void;
}

export function createRetentionMetrics(registry: Registry): RetentionMetrics {
  const registers = [registry];
  const removed = new Counter({
    name: 'ledgerbell_retention_removed_total',
    help: 'What retention has removed because it was old, by kind.',
    labelNames: ['kind'],
    registers,
  });
  const passes = new Counter({
    name: 'ledgerbell_retention_passes_total',
    help: 'Passes of retention that have ended, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const lastPass = new Gauge({
    name: 'ledgerbell_retention_last_pass_timestamp_seconds',
    help: 'When this process last finished a pass of retention, in seconds since 1970. 0: it has finished none.',
    registers,
  });
  for (const kind of KINDS) removed.inc({ kind }, 0);
  for (const outcome of OUTCOMES) passes.inc({ outcome }, 0);

  return {
    removed: (kind, count) => removed.inc({ kind }, count),
    ended(outcome) {
      passes.inc({ outcome });
      if (outcome === 'done') lastPass.setToCurrentTime();
    },
  };
}
