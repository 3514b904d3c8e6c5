import type { TracesConfig } from './config/variables.ts';
import type { Log } from './log.ts';
import type { Tracing } from './tracing/span.ts';

export {
  type Span,
  type SpanAttributes,
  type SpanError,
  type SpanStart,
  type Tracing,
  toSpanError,
} from './tracing/span.ts';

/**
 * Starts traces if they are configured. Otherwise nothing of OpenTelemetry's SDK is loaded.
 * @param roles of this process.
 */
export async function startTracing(
  config: TracesConfig | undefined,
  context: { roles: readonly string[]; log: Log },
): Promise<Tracing | undefined> {
  if (config === undefined) return undefined;
  const { createOtlpTracing } = await import('./tracing/otlp-tracing.ts');
  return createOtlpTracing(config, context);
}
