import {
  ROOT_CONTEXT,
  SpanKind,
  type Span as SpanOfSdk,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { TracesConfig } from '../config/variables.ts';
import { VERSION } from '../config.ts';
import type { Log } from '../log.ts';
import type { Span, SpanStart, Tracing } from './span.ts';

/** Traces by OpenTelemetry's SDK. The SDK itself reads the sampler, the resource and the limits of the exporter from OTEL_*. */

/**
 * Milliseconds that a shutdown waits for the last spans. Requests in progress may already have taken 5 s, and a process ends itself
 * after 10 s.
 */
const FLUSH_LIMIT = 3_000;

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Starts sending spans to the collector, in the background. @param roles of this process. */
export function createOtlpTracing(
  { url, headers }: TracesConfig,
  { roles, log }: { roles: readonly string[]; log: Log },
): Tracing {
  const exporter = reportFailures(new OTLPTraceExporter({ url, headers }), { url, log });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'ledgerbell',
      'service.version': VERSION,
      'ledgerbell.roles': [...roles],
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer('ledgerbell', VERSION);

  return {
    begin({ name, kind, parent, attributes }: SpanStart): Span {
      const options = { kind: KINDS[kind], attributes };
      return toSpan(tracer.startSpan(name, options, contextOf(parent)));
    },
    async stop() {
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FLUSH_LIMIT);
      });
      await Promise.race([provider.shutdown().catch(() => {}), limit]);
      clearTimeout(timer);
    },
  };
}

/** Continues only `traceparent`. `tracestate` and baggage are for the systems that set them. */
function contextOf(traceparent: string | null | undefined) {
  const context = traceparent == null ? null : parseTraceParent(traceparent);
  return context === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...context, isRemote: true });
}

function toSpan(span: SpanOfSdk): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`,
    rename: (name) => void span.updateName(name),
    set: (attributes) => void span.setAttributes(attributes),
    end(error) {
      if (error !== undefined) {
        span.setAttribute('error.type', error.type);
        span.setStatus({
          code: SpanStatusCode.ERROR,
          ...(error.message === undefined ? {} : { message: error.message }),
        });
      }
      span.end();
    },
  };
}

/** The error's message or code. The error itself is not logged, because it contains the collector's answer. */
function reasonOf(error: Error | undefined): string {
  if (error === undefined) return 'unknown';
  return error.message || ('code' in error ? String(error.code) : error.name);
}

/** Logs once per outage that the collector cannot be reached, not for every batch of spans. */
function reportFailures(exporter: SpanExporter, { url, log }: { url: string; log: Log }): SpanExporter {
  // The path and the query may contain a token.
  const collector = new URL(url).origin;
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        const hasFailed = code !== ExportResultCode.SUCCESS;
        if (hasFailed && !isFailing) {
          log.warn(
            { reason: reasonOf(error), collector },
            'traces cannot be sent to the collector; they are dropped until it answers, and nothing else is affected',
          );
        }
        if (!hasFailed && isFailing) log.info({ collector }, 'traces are sent to the collector again');
        isFailing = hasFailed;
        // A failure would also go to the SDK's own error handler.
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
