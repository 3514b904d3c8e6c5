import { Gauge, type Registry } from 'prom-client';
import type { Runtime } from '../../runtime.ts';
import { VERSION } from '../../version.ts';
import { readInstallationState } from './installation-queries.ts';
import { readQueueStates } from './queue-state.ts';
import { shareReading } from './shared-reading.ts';

/** How long the processes share what one of them has read. Prometheus asks every 15 s by default. */
const SHARED_SECONDS = 10;

/** A scrape does not wait longer for MySQL or Redis. Prometheus gives up after 10 s by default. Milliseconds. */
const PATIENCE = 3_000;

type Labelled = Gauge<string>;

/**
 * Gauges of the whole installation. Every process shows the same values, so take their `max`, not their `sum`. What cannot be read is
 * left out, because a 0 would look as if all were well.
 * @returns what brings them up to date. It never throws.
 */
export function createInstallationGauges(registry: Registry, runtime: Runtime): () => Promise<void> {
  const { database, queues, redis, prefix } = runtime;
  const gauge = (name: string, help: string, ...labelNames: string[]): Labelled =>
    new Gauge({ name: `ledgerbell_${name}`, help, labelNames, registers: [registry] });

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
  const jobs = gauge('queue_jobs', 'Jobs by queue and state.', 'queue', 'state');
  const workers = gauge('queue_workers', 'Processes that work on a queue, as Redis sees them.', 'queue');

  const share = <T>(name: string, read: () => Promise<T>) =>
    shareReading({ redis, key: `${prefix}:metrics:${VERSION}:${name}`, seconds: SHARED_SECONDS, read });
  const readState = share('installation', () => readInstallationState(database));
  const readQueues = share('queues', () => readQueueStates(queues));

  async function refreshState(): Promise<void> {
    const state = await withPatience(readState());
    setAll(webhooks, 'status', state?.webhooks);
    setAll(circuits, 'state', state?.circuits);
    setAll(pending, 'state', state?.pending);
    setAll(imports, 'status', state?.imports);
    setOnly(oldestPending, state?.oldestPending);
    setOnly(longestFailing, state?.longestFailing);
    setOnly(oldestImport, state?.oldestImport);
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

/** @returns null when the value does not come, or does not come in time. */
async function withPatience<T>(value: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), PATIENCE);
  });
  try {
    return await Promise.race([value.catch(() => null), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function setAll(gauge: Labelled, label: string, values: Record<string, number> | undefined): void {
  gauge.reset();
  for (const [name, value] of Object.entries(values ?? {})) gauge.set({ [label]: name }, value);
}

/** For a gauge without labels, which `reset` would set to 0. */
function setOnly(gauge: Labelled, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}
