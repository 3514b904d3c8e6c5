import { removeOld } from '../retention/retention.ts';
import { createSteps } from '../retention/steps.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Removes what is old, once through everything, and counts the pass.
 * @param signal ends it after the current step. A pass that was stopped counts neither as done nor as failed.
 * @throws what MySQL throws.
 */
export async function passRetention(
  {
    database,
    config,
    metrics: { retention: metrics },
    log,
  }: Pick<Runtime, 'database' | 'config' | 'metrics' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const steps = createSteps({ signal });
    const removed = await removeOld({ database, retention: config.retention, steps, metrics });
    if (signal.aborted) return;
    metrics.ended('done');
    log.info(removed, 'retention done');
  } catch (error) {
    metrics.ended('failed');
    throw error;
  }
}
