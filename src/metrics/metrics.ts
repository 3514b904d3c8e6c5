import { Gauge, Registry } from 'prom-client';
import { VERSION } from '../version.ts';
import { createDeliveryMetrics, type DeliveryMetrics } from './delivery-metrics.ts';
import { createImportMetrics, type ImportMetrics } from './import-metrics.ts';
import { createReconcilerMetrics, type ReconcilerMetrics } from './reconciler-metrics.ts';
import { createRetentionMetrics, type RetentionMetrics } from './retention-metrics.ts';

/**
 * What a process counts of its own work. The parts that work are given one of these interfaces, and know nothing of Prometheus.
 * The names are explained in docs/metrics.md.
 */
export interface Metrics {
  deliveries: DeliveryMetrics;
  imports: ImportMetrics;
  reconciler: ReconcilerMetrics;
  retention: RetentionMetrics;
  /** Says which roles this process has. */
  setRoles(roles: readonly string[]): void;
  /** Holds everything that was counted, for `/metrics`. */
  registry: Registry;
}

/** Creates the metrics of a process. All counters begin at 0, so that Prometheus sees the first increase. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: 'ledgerbell_build_info',
    help: 'Always 1. The label has the version of this process.',
    labelNames: ['version'],
    registers,
  }).set({ version: VERSION }, 1);
  const role = new Gauge({
    name: 'ledgerbell_role_info',
    help: 'Always 1, for each role of this process.',
    labelNames: ['role'],
    registers,
  });
  return {
    deliveries: createDeliveryMetrics(registry),
    imports: createImportMetrics(registry),
    reconciler: createReconcilerMetrics(registry),
    retention: createRetentionMetrics(registry),
    setRoles(roles) {
      for (const name of roles) role.set({ role: name }, 1);
    },
    registry,
  };
}
