import type { TracesConfig } from '../config/traces-config.ts';
import type { Log } from '../log.ts';
import type { Tracing } from '../tracing.ts';

/**
 * Starts traces if they are configured. Otherwise nothing of OpenTelemetry's SDK is loaded.
 * @param roles of this process.
 */
export async function startTracing(
  config: TracesConfig | undefined,
  context: { roles: readonly string[]; log: Log },
): Promise<Tracing | undefined> {
  if (config === undefined) return undefined;
  const { createOtlpTracing } = await import('./otlp-tracing.ts');
  return createOtlpTracing(config, context);
}
