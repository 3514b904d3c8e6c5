/**
 * The parts of a process report their work as spans through this interface. They do not depend on OpenTelemetry, which is loaded
 * only when traces are on. docs/traces.md explains the names.
 */
export interface Tracing {
  begin(start: SpanStart): Span;
  /** Sends the spans that have ended, for a bounded time. Never rejects. */
  stop(): Promise<void>;
}

/** Names follow OpenTelemetry's semantic conventions; those of this service begin with `ledgerbell.`. No value may be a secret. */
export type SpanAttributes = Record<string, string | number | boolean>;

export interface SpanStart {
  name: string;
  kind: 'server' | 'client' | 'consumer' | 'internal';
  /** The `traceparent` of the parent span. If it is missing or malformed, the span begins a trace. */
  parent: string | null | undefined;
  attributes: SpanAttributes;
}

export interface Span {
  /** Names this span to other processes, 55 characters: https://www.w3.org/TR/trace-context/#traceparent-header */
  readonly traceparent: string;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** Ends the span. With an error it counts as failed. */
  end(error?: SpanError): void;
}

export interface SpanError {
  /** One of a few values, such as a status code or the name of an exception. */
  type: string;
  /** For people to read. */
  message?: string | undefined;
}

/** The error without its message, which may contain values of a statement. */
export const toSpanError = (error: unknown): SpanError => ({
  type: error instanceof Error ? error.name : 'Error',
});
