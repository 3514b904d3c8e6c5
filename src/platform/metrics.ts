import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from './config.ts';

/** The metrics of the processes for Prometheus, by what they measure. */

/** Functions that create the counters and gauges of a registry, from a name without `ledgerbell_`, a text and the names of labels. */
export const metricsOf = (registry: Registry) => ({
  counter: (name: string, help: string, ...labelNames: string[]): Counter<string> =>
    new Counter({ name: `ledgerbell_${name}`, help, labelNames, registers: [registry] }),
  gauge: (name: string, help: string, ...labelNames: string[]): Gauge<string> =>
    new Gauge({ name: `ledgerbell_${name}`, help, labelNames, registers: [registry] }),
});

/** Outcomes of attempts, as `Outcome` in src/delivery/run/schedule.ts explains them. */
const ATTEMPT_OUTCOMES = ['delivered', 'failed', 'throttled', 'gone', 'refused'] as const;

/**
 * The usual bounds for HTTP up to one second. Connecting may take 5 s and the whole attempt 15 s, so an attempt above 15 s was cut
 * off by the timeout.
 */
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/**
 * Bounds up to 2.5 s are for deliveries that succeed immediately. Each higher bound lies between two sums of the retry schedule (5
 * s, 35 s, 2.6 min, 13 min, 43 min, 2.7 h, 8 h, 18 h … 74 h), so that a bucket shows after how many failures a delivery succeeded.
 */
const LATENCY_SECONDS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 8, 20, 80, 400, 1_500, 6_000, 18_000, 45_000, 78_000, 320_000,
];

/** The part of an attempt that is counted. Every `AttemptResult` has it. */
interface CountedAttempt {
  subjectId: number;
  /** The first delivery of the batch that it was sent in. null: it was sent alone. */
  batchFirst: number | null;
  outcome: (typeof ATTEMPT_OUTCOMES)[number];
  /** The delivery's status after the attempt. */
  status: 'pending' | 'delivered' | 'failed';
  /** Counted from 1 over the life of the delivery. */
  number: number;
  /** Failed attempts on the current retry schedule. A redelivery or a replay starts it again at 0. */
  failures: number;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  /** When the movement was stored, in milliseconds since 1970. Null: the movement is no longer stored, and nothing was sent. */
  storedAt: number | null;
}

export interface DeliveryMetrics {
  /**
   * Counts attempts whose results are committed, and batches that were rejected as a whole. Never throws, because committed results cannot
   * be taken back.
   */
  recorded(
    attempts: readonly CountedAttempt[],
    rejectedBatches?: readonly { events: number; durationMs: number }[],
  ): void;
  /** Counts a delivery run that another run has taken over. */
  leaseLost(): void;
}

export function createDeliveryMetrics(registry: Registry): DeliveryMetrics {
  const { counter } = metricsOf(registry);
  const registers = [registry];
  const deliveries = counter(
    'deliveries_total',
    'Deliveries that have ended: delivered, or failed for good after the last attempt.',
    'outcome',
  );
  const attempts = counter('attempts_total', 'Attempts whose results are recorded, by outcome.', 'outcome');
  const duration = new Histogram({
    name: 'ledgerbell_attempt_duration_seconds',
    help: 'Time from the start of a POST to the end of its answer, or to its failure.',
    buckets: ATTEMPT_SECONDS,
    registers,
  });
  const latency = new Histogram({
    name: 'ledgerbell_delivery_latency_seconds',
    help: 'Time from storing a movement to the answer that made its delivery delivered. Without redeliveries and replays.',
    buckets: LATENCY_SECONDS,
    registers,
  });
  const batches = counter(
    'batches_total',
    'POSTs with a batch whose answer is recorded, rejected ones included.',
  );
  const batchEvents = counter('batch_events_total', 'Events in these batches.');
  const lost = counter('leases_lost_total', 'Delivery runs that another run has taken over.');
  for (const outcome of ['delivered', 'failed']) deliveries.inc({ outcome }, 0);
  for (const outcome of ATTEMPT_OUTCOMES) attempts.inc({ outcome }, 0);

  return {
    recorded(all, rejectedBatches = []) {
      batches.inc(rejectedBatches.length);
      for (const { events, durationMs } of rejectedBatches) {
        batchEvents.inc(events);
        duration.observe(durationMs / 1_000);
      }
      const outcomes = { delivered: 0, failed: 0, throttled: 0, gone: 0, refused: 0 };
      const ended = { delivered: 0, failed: 0, pending: 0 };
      for (const attempt of all) {
        const { outcome, status, storedAt, startedAt, durationMs, number, failures } = attempt;
        ended[status] += 1;
        if (storedAt === null) continue;
        outcomes[outcome] += 1;
        const isOfBatch = attempt.batchFirst !== null;
        const isPost = !isOfBatch || attempt.batchFirst === attempt.subjectId;
        if (isOfBatch) batchEvents.inc();
        if (isOfBatch && isPost) batches.inc();
        if (isPost) duration.observe(durationMs / 1_000);
        // With more attempts than the current schedule counts, the delivery was sent again on request, perhaps months later.
        const isFirstSchedule = number === failures + 1;
        const waited = startedAt + durationMs - storedAt;
        // The clocks of two machines may differ, so the time may be negative. histogram.observe throws if it is not a number.
        if (status === 'delivered' && isFirstSchedule && Number.isFinite(waited))
          latency.observe(Math.max(0, waited) / 1_000);
      }
      for (const outcome of ATTEMPT_OUTCOMES)
        if (outcomes[outcome] > 0) attempts.inc({ outcome }, outcomes[outcome]);
      if (ended.delivered > 0) deliveries.inc({ outcome: 'delivered' }, ended.delivered);
      if (ended.failed > 0) deliveries.inc({ outcome: 'failed' }, ended.failed);
    },
    leaseLost: () => lost.inc(),
  };
}

/**
 * How an import ended. `unreadable`: the importer could not read the file, so its sender has to correct it. `given_up`: ten runs in
 * a row have failed at the same row.
 */
const IMPORT_OUTCOMES = ['done', 'unreadable', 'given_up'] as const;
type ImportOutcome = (typeof IMPORT_OUTCOMES)[number];

/** Rows of imports whose transaction is committed. */
interface CountedRows {
  inserted: number;
  /** Rows whose movements were known. */
  duplicates: number;
  /** Rows whose movements were known with another direction, amount or date. */
  conflicts: number;
  /** Rows that could not be read. */
  rejected: number;
}

export interface ImportMetrics {
  /** Announces the formats that this process imports, so that their counters begin at 0. */
  announce(formats: readonly string[]): void;
  rows(rows: CountedRows): void;
  /** @param count how many imports of this format have ended. */
  ended(format: string, outcome: ImportOutcome, count?: number): void;
  /** Counts a file at which a parser had an unexpected error. */
  parserDefect(): void;
}

function createImportMetrics(registry: Registry): ImportMetrics {
  const { counter } = metricsOf(registry);
  const imports = counter(
    'imports_total',
    'Imports that have ended, by the format they were sent as and by outcome.',
    'format',
    'outcome',
  );
  const rows = counter(
    'import_rows_total',
    'Rows of imports: stored, duplicates of stored movements, conflicts with them, and rejected.',
    'result',
  );
  const defects = counter(
    'parser_defects_total',
    'Statement files that cannot be read because their parser had an unexpected error.',
  );
  const RESULTS = {
    stored: 'inserted',
    duplicate: 'duplicates',
    conflict: 'conflicts',
    rejected: 'rejected',
  } as const;
  for (const result of Object.keys(RESULTS)) rows.inc({ result }, 0);

  return {
    announce(formats) {
      for (const format of formats)
        for (const outcome of IMPORT_OUTCOMES) imports.inc({ format, outcome }, 0);
    },
    rows(counted) {
      for (const [result, name] of Object.entries(RESULTS)) {
        if (counted[name] > 0) rows.inc({ result }, counted[name]);
      }
    },
    ended: (format, outcome, count = 1) => imports.inc({ format, outcome }, count),
    parserDefect: () => defects.inc(),
  };
}

export interface ProcessMetrics {
  /** Counts a process that the supervisor has killed because it did not answer. */
  killed(): void;
}

function createSupervisorMetrics(registry: Registry): ProcessMetrics {
  const kills = metricsOf(registry).counter(
    'processes_killed_total',
    'Processes that the supervisor has killed because they did not answer for 30 s.',
  );
  return { killed: () => kills.inc() };
}

interface ReconcilerMetrics {
  /** Counts jobs that the reconciler added for due work without a job. */
  repaired(queue: 'imports' | 'deliveries', jobs: number): void;
}

function createReconcilerMetrics(registry: Registry): ReconcilerMetrics {
  const { counter } = metricsOf(registry);
  const repairs = counter(
    'reconciler_repairs_total',
    'Unfinished imports, and webhooks with something due, that had no job until the reconciler added one.',
    'queue',
  );
  for (const queue of ['imports', 'deliveries']) repairs.inc({ queue }, 0);
  return {
    repaired(queue, jobs) {
      if (jobs > 0) repairs.inc({ queue }, jobs);
    },
  };
}

export interface FeedMetrics {
  /** Counts events in answers of feeds. An event that is read again counts again. */
  handedOut(events: number): void;
  /** Adds a function that counts readers that wait now. */
  countReaders(count: () => number): void;
}

function createFeedMetrics(registry: Registry): FeedMetrics {
  const counts: (() => number)[] = [];
  new Gauge({
    name: 'ledgerbell_feed_readers',
    help: 'Readers of feeds that are connected now, in answers with wait and in streams.',
    registers: [registry],
    collect() {
      this.set(counts.reduce((sum, count) => sum + count(), 0));
    },
  });
  const events = metricsOf(registry).counter(
    'feed_events_total',
    'Events in answers of feeds. An event that is read again counts again.',
  );
  return {
    handedOut: (count) => events.inc(count),
    countReaders: (count) => void counts.push(count),
  };
}

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
  'statements',
] as const;

/** Rows that retention removes. Attempts that are removed with their delivery do not count. */
export type RemovedKind = (typeof KINDS)[number];

const RETENTION_OUTCOMES = ['done', 'failed'] as const;

export interface RetentionMetrics {
  removed(kind: RemovedKind, count: number): void;
  /** Counts a pass that has ended, but not a pass that was stopped with its process. */
  ended(outcome: (typeof RETENTION_OUTCOMES)[number]): void;
}

function createRetentionMetrics(registry: Registry): RetentionMetrics {
  const { counter, gauge } = metricsOf(registry);
  const removed = counter(
    'retention_removed_total',
    'What retention has removed because it was old, by kind.',
    'kind',
  );
  const passes = counter(
    'retention_passes_total',
    'Passes of retention that have ended, by outcome.',
    'outcome',
  );
  const lastPass = gauge(
    'retention_last_pass_timestamp_seconds',
    'When this process last finished a pass of retention, in seconds since 1970. 0: it has finished none.',
  );
  for (const kind of KINDS) removed.inc({ kind }, 0);
  for (const outcome of RETENTION_OUTCOMES) passes.inc({ outcome }, 0);

  return {
    removed: (kind, count) => removed.inc({ kind }, count),
    ended(outcome) {
      passes.inc({ outcome });
      if (outcome === 'done') lastPass.setToCurrentTime();
    },
  };
}

/**
 * Counts of a process's own work. Each part of the process gets one of these interfaces, so that it does not depend on Prometheus.
 * docs/metrics.md explains the names.
 */
export interface Metrics {
  deliveries: DeliveryMetrics;
  imports: ImportMetrics;
  processes: ProcessMetrics;
  reconciler: ReconcilerMetrics;
  feeds: FeedMetrics;
  retention: RetentionMetrics;
  /** Sets the roles of this process. */
  setRoles(roles: readonly string[]): void;
  /** Contains all counts, for `/metrics`. */
  registry: Registry;
}

/** Creates the metrics of a process. All counters begin at 0, so that Prometheus sees the first increase. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const { gauge } = metricsOf(registry);
  gauge('build_info', 'Always 1. The label has the version of this process.', 'version').set(
    { version: VERSION },
    1,
  );
  const role = gauge('role_info', 'Always 1, for each role of this process.', 'role');
  return {
    deliveries: createDeliveryMetrics(registry),
    imports: createImportMetrics(registry),
    processes: createSupervisorMetrics(registry),
    reconciler: createReconcilerMetrics(registry),
    feeds: createFeedMetrics(registry),
    retention: createRetentionMetrics(registry),
    setRoles(roles) {
      for (const name of roles) role.set({ role: name }, 1);
    },
    registry,
  };
}
