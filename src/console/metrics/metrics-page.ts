import { Hono } from 'hono';
import { AggregatorRegistry, Gauge, type MetricObject, Registry } from 'prom-client';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { createProcessMetrics, type OtherProcesses } from '../process-metrics.ts';
import { createInstallationGauges } from './installation-metrics.ts';

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
    new Gauge({
      name: 'ledgerbell_process_up',
      help: '1 if a process of this supervisor has answered within 2 s, else 0. Its other metrics are missing then.',
      labelNames: ['process'],
      registers: [installation],
    });
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
