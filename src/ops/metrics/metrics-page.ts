import { Hono } from 'hono';
import { Registry } from 'prom-client';
import type { ApiEnv } from '../../http/environment.ts';
import type { Runtime } from '../../runtime.ts';
import { createInstallationGauges } from './installation-gauges.ts';
import { createProcessGauges } from './process-gauges.ts';

/**
 * GET /metrics, in Prometheus' text format: what this process has counted, its own state, and the state of the installation. It answers
 * without MySQL and Redis too.
 */
export function metricsPage(runtime: Runtime): Hono<ApiEnv> {
  const gauges = new Registry();
  const refreshes = [createProcessGauges(gauges, runtime), createInstallationGauges(gauges, runtime)];
  return new Hono<ApiEnv>().get('/', async (c) => {
    await Promise.all(refreshes.map((refresh) => refresh()));
    const parts = await Promise.all([runtime.metrics.registry.metrics(), gauges.metrics()]);
    return c.body(parts.join('\n'), 200, { 'Content-Type': gauges.contentType });
  });
}
