/**
 * Through this interface, the parts of a process tell about their work as spans of traces. They are given this interface, and know nothing of
 * OpenTelemetry, which is loaded only when traces are on. The names are explained in docs/traces.md.
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
  /** The `traceparent` of the span that this one belongs to. If there is none, or it is malformed, the span begins a trace. */
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
  /** One of few, such as a status code or the name of an exception. */
  type: string;
  /** For people to read. */
  message?: string | undefined;
}

/** The error without its message, which may hold values of a statement. */
export const toSpanError = (error: unknown): SpanError => ({
  type: error instanceof Error ? error.name : 'Error',
});
