import { collectDefaultMetrics, type MetricObject, Registry } from 'prom-client';
import { onPoolWait, readPoolUse } from '../database/connection.ts';
import { mysqlWords } from '../database/health.ts';
import { type HostsReport, onHostsChange, readHosts } from '../database/lead-to-primary.ts';
import type { Runtime } from '../database/runtime.ts';
import { metricsOf } from '../platform/metrics.ts';

/** The metrics of one process for Prometheus. */

/** The other processes of a supervisor. The supervisor has the operators' listener for all of them. */
export interface OtherProcesses {
  /** `metrics` is undefined for a process that does not answer. */
  readMetrics(): Promise<{ name: string; metrics: MetricObject[] | undefined }[]>;
  readHealth(): Promise<{ name: string; status: 'ok' | 'not running' | 'does not answer' }[]>;
}

/**
 * Collects the metrics of this process: its counters and its state.
 * @param name of the process, for the label `process`. Without a name there is no label.
 * @returns a function that reads the metrics.
 */
export function createProcessMetrics(runtime: Runtime, name?: string): () => Promise<MetricObject[]> {
  const gauges = new Registry();
  const refresh = createProcessGauges(gauges, runtime);
  const registries = [runtime.metrics.registry, gauges];
  if (name !== undefined) for (const registry of registries) registry.setDefaultLabels({ process: name });
  return async () => {
    await refresh();
    const metrics = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
    return metrics.flat();
  };
}

/** Gauges of prom-client that are named like counters, which `promtool check metrics` refuses. Other gauges have the same numbers by type. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * Creates gauges of this process: whether it reaches MySQL and Redis, its connections, and prom-client's metrics of Node, such as the
 * delay of the event loop.
 * @returns a function that updates the gauges.
 */
function createProcessGauges(
  registry: Registry,
  { database, health }: Pick<Runtime, 'database' | 'health'>,
): () => Promise<void> {
  const { counter, gauge } = metricsOf(registry);
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const dependency = gauge(
    'dependency_up',
    '1 if MySQL or Redis has answered this process and taken a write within 2 s, else 0.',
    'dependency',
  );
  const problem = gauge(
    'dependency_problem',
    '1: what is wrong with MySQL or Redis, in the words of GET /readyz.',
    'dependency',
    'problem',
  );
  const clock = gauge(
    'clock_ahead_seconds',
    "Seconds by which the clock of this process is ahead of MySQL's. Negative: behind.",
  );
  const connections = gauge(
    'mysql_pool_connections',
    'Open connections to MySQL of this process, busy or idle.',
    'state',
  );
  const max = gauge('mysql_pool_connections_max', 'The most connections to MySQL that this process opens.');
  const waiters = gauge(
    'mysql_pool_waiters',
    'Statements and transactions of this process that are waiting for a connection to MySQL.',
  );
  const waits = counter(
    'mysql_pool_waits_total',
    'How often a statement or transaction of this process had to wait for a connection to MySQL.',
  );
  onPoolWait(database, () => waits.inc());
  const changes = counter(
    'mysql_primary_changes_total',
    'How often this process changed to another host of DATABASE_URL.',
  );
  const conflicting = gauge(
    'mysql_hosts_conflicting',
    '1: these hosts of DATABASE_URL take writes independently of each other, so this process writes to none. Else 0.',
    'hosts',
  );
  const startingWritable = gauge(
    'mysql_hosts_starting_writable',
    'Hosts of DATABASE_URL that take writes before they have found their group.',
  );
  const setHosts = (report: Pick<HostsReport, 'conflicting' | 'startingWritable'>) => {
    conflicting.reset();
    conflicting.set({ hosts: report.conflicting.join(', ') }, report.conflicting.length > 0 ? 1 : 0);
    startingWritable.set(report.startingWritable.length);
  };
  setHosts(readHosts(database) ?? { conflicting: [], startingWritable: [] });
  onHostsChange(database, (report, before) => {
    setHosts(report);
    if (report.primary !== null && report.primary !== before.primary) changes.inc();
  });

  return async () => {
    // Read before MySQL is looked at, which uses a connection itself.
    const use = readPoolUse(database);
    if (use !== null) {
      connections.set({ state: 'busy' }, use.busy);
      connections.set({ state: 'idle' }, use.idle);
      max.set(use.max);
      waiters.set(use.waiters);
    }
    const seen = await health();
    const { mysql, redis, clockAhead } = seen;
    dependency.set({ dependency: 'mysql' }, mysql === 'ok' ? 1 : 0);
    dependency.set({ dependency: 'redis' }, redis === 'ok' ? 1 : 0);
    const problems = Object.entries({ mysql: mysqlWords(seen), redis }).filter(([, state]) => state !== 'ok');
    problem.reset();
    if (problems.length === 0) problem.set({ dependency: 'none', problem: 'none' }, 0);
    for (const [name, state] of problems) problem.set({ dependency: name, problem: state }, 1);
    if (clockAhead !== null) clock.set(Math.round(clockAhead) / 1_000);
  };
}
