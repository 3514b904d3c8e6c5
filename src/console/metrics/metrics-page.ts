import { Hono } from 'hono';
import { AggregatorRegistry, type Gauge, type MetricObject, Registry } from 'prom-client';
import { within } from '../../database/health.ts';
import { readHostProblems } from '../../database/lead-to-primary.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { VERSION } from '../../platform/config.ts';
import { metricsOf } from '../../platform/metrics.ts';
import type { Queues } from '../../platform/queues.ts';
import { shareReading } from '../../platform/shared-reading.ts';
import { countTroubles } from '../../verdict/trouble.ts';
import { readVerdict, runningRoles } from '../../verdict/verdict.ts';
import { createProcessMetrics, type OtherProcesses } from '../process-metrics.ts';

/** The metrics of the whole installation for Prometheus. */

/** How long the processes share a reading. Prometheus asks every 15 s by default. */
const SHARED_SECONDS = 10;

/** How long a scrape waits: longer than a look at MySQL and the verdict take. Prometheus gives up after 10 s by default. Milliseconds. */
const PATIENCE = 7_000;

/**
 * Creates gauges of the whole installation. Every process shows the same values, so take their `max`, not their `sum`. A value that cannot
 * be read is left out, because a 0 would look like a healthy installation.
 * @returns a function that updates the gauges. It never throws.
 */
export function createInstallationGauges(registry: Registry, runtime: Runtime): () => Promise<void> {
  const { queues, redis, prefix } = runtime;
  const { gauge } = metricsOf(registry);

  const pending = gauge(
    'pending_deliveries',
    'Pending deliveries, of webhooks that are healthy or failing, or held because the webhook is paused or disabled.',
    'state',
  );
  const oldestPending = gauge(
    'oldest_pending_seconds',
    'Time since the oldest movement was stored that a healthy webhook has not been sent. 0: there is none.',
  );
  const longestFailing = gauge(
    'longest_failing_seconds',
    'Time since the failures began of the active webhook that has failed for the longest time. 0: none fails.',
  );
  const webhooks = gauge(
    'webhooks',
    'Webhooks by status. The service itself has paused the quarantined ones.',
    'status',
  );
  const circuits = gauge('circuits', 'Circuits of active webhooks by state.', 'state');
  const imports = gauge('unfinished_imports', 'Imports that are not done, by status.', 'status');
  const oldestImport = gauge(
    'oldest_import_seconds',
    'Time since the oldest import was received that is queued or running. 0: there is none.',
  );
  const processes = gauge(
    'processes',
    'Running processes by role, as their heartbeats in MySQL show them.',
    'role',
  );
  const troubles = gauge(
    'troubles',
    'Objects in trouble, by kind and scope, as the console and the command line show them. A kind without trouble is left out.',
    'kind',
    'scope',
  );
  const jobs = gauge('queue_jobs', 'Jobs by queue and state.', 'queue', 'state');
  const workers = gauge('queue_workers', 'Processes that work on a queue, as Redis sees them.', 'queue');

  const share = <T>(name: string, read: () => Promise<T>) =>
    shareReading({ redis, key: `${prefix}:metrics:${VERSION}:${name}`, seconds: SHARED_SECONDS, read });
  const readState = share('installation', () => readInstallation(runtime));
  const readQueues = share('queues', () => readQueueStates(queues));

  async function refreshState(): Promise<void> {
    const state = await withPatience(readState());
    const figures = state?.figures;
    setAll(webhooks, 'status', figures?.webhooks);
    setAll(circuits, 'state', figures?.circuits);
    setAll(pending, 'state', figures?.pending);
    setAll(imports, 'status', figures?.imports);
    setAll(processes, 'role', state?.processes);
    setOnly(oldestPending, figures?.oldestPendingSeconds);
    setOnly(longestFailing, figures?.longestFailing);
    setOnly(oldestImport, figures?.oldestImport);
    troubles.reset();
    for (const { kind, scope, count } of state?.troubles ?? []) troubles.set({ kind, scope }, count);
  }

  async function refreshQueues(): Promise<void> {
    const all = await withPatience(readQueues());
    jobs.reset();
    workers.reset();
    for (const queue of all ?? []) {
      for (const [state, count] of Object.entries(queue.jobs)) jobs.set({ queue: queue.name, state }, count);
      workers.set({ queue: queue.name }, queue.workers);
    }
  }

  return async () => {
    await Promise.all([refreshState(), refreshQueues()]);
  };
}

/** @returns null when the value fails, or does not come in time. */
const withPatience = <T>(value: Promise<T>): Promise<T | null> =>
  within<T | null>(
    value.catch(() => null),
    PATIENCE,
    () => null,
  );

function setAll(gauge: Gauge, label: string, values: Record<string, number> | undefined): void {
  gauge.reset();
  for (const [name, value] of Object.entries(values ?? {})) gauge.set({ [label]: name }, value);
}

/** Sets or removes the value of a gauge without labels. `reset` would set it to 0. */
function setOnly(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}

/** Reads the figures, the running processes by role, and the troubles by kind. */
async function readInstallation({ database, health }: Pick<Runtime, 'database' | 'health'>) {
  const seen = await health();
  // A MySQL that does not answer would also keep back what is known of it.
  const sql = seen.mysqlRoundTrip === null ? null : database;
  const verdict = await readVerdict(sql, { ...seen, hostProblems: readHostProblems(database) });
  return {
    figures: verdict.work?.figures,
    processes: runningRoles(verdict) ?? undefined,
    troubles: countTroubles(verdict.troubles),
  };
}

/** Reads the state of all queues from Redis. Counts jobs without reading them, and looks at the list of Redis' clients. */
const readQueueStates = ({ all }: Queues) =>
  Promise.all(
    all.map(async (queue) => {
      const [jobs, workers] = await Promise.all([
        queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
        queue.getWorkersCount(),
      ]);
      const { waiting = 0, active = 0, delayed = 0, failed = 0 } = jobs;
      return { name: queue.name, jobs: { waiting, active, delayed, failed }, workers };
    }),
  );

/**
 * GET /metrics, in Prometheus' text format: the counters and the state of the processes, and the state of the installation. It also
 * answers without MySQL and Redis.
 * @param others processes whose metrics are also on this page. Each metric of a process then has the label `process`.
 */
export function metricsPage(runtime: Runtime, others: OtherProcesses | undefined): Hono<ApiEnv> {
  const installation = new Registry();
  const refreshInstallation = createInstallationGauges(installation, runtime);
  const readOwn = createProcessMetrics(runtime, others === undefined ? undefined : 'supervisor');
  const up =
    others &&
    metricsOf(installation).gauge(
      'process_up',
      '1 if a process of this supervisor has answered within 2 s, else 0. Its other metrics are missing then.',
      'process',
    );
  return new Hono<ApiEnv>().get('/', async (c) => {
    const [own, ofOthers] = await Promise.all([
      readOwn(),
      others?.readMetrics() ?? [],
      refreshInstallation(),
    ]);
    for (const { name, metrics } of ofOthers) up?.set({ process: name }, metrics === undefined ? 0 : 1);
    const metrics = [own, ...ofOthers.map((it) => it.metrics ?? [])];
    const parts = await Promise.all([merge(metrics).metrics(), installation.metrics()]);
    return c.body(parts.join('\n'), 200, { 'Content-Type': installation.contentType });
  });
}

/** Keeps every metric. Nothing is added up, because each process has its own label. */
const merge = (metrics: readonly MetricObject[][]): Registry =>
  AggregatorRegistry.aggregate(metrics.map((ofOne) => ofOne.map((it) => ({ ...it, aggregator: 'first' }))));
