import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll } from 'vitest';

type Value =
  | { stringValue: string }
  | { intValue: number }
  | { boolValue: boolean }
  | { arrayValue: unknown };

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Value }[];
  status: { code?: number; message?: string };
}

interface OtlpBody {
  resourceSpans: {
    resource: { attributes: OtlpSpan['attributes'] };
    scopeSpans: { spans: OtlpSpan[] }[];
  }[];
}

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty: it begins a trace. */
  parentSpanId: string;
  name: string;
  kind: (typeof KINDS)[number];
  attributes: Record<string, unknown>;
  /** The attributes of the process that it comes from. */
  resource: Record<string, unknown>;
  failed: boolean;
  message: string | undefined;
}

/** https://github.com/open-telemetry/opentelemetry-proto/blob/v1.7.0/opentelemetry/proto/trace/v1/trace.proto */
const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const ERROR = 2;

export interface Collector {
  /** As in OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: CollectedSpan[];
  readonly requests: { path: string; headers: IncomingHttpHeaders; body: string }[];
  /** Requests that are not answered, and whose client still waits. */
  readonly open: number;
  /** Sets how it answers from now on. Spans count as collected when it answers 200 by itself. */
  answer(answering: ((response: ServerResponse) => void) | null): void;
}

/** Starts a real HTTP server on loopback that takes traces as OTLP/HTTP in JSON. Call it at the top of the file. */
export function useCollector(): Collector {
  const spans: CollectedSpan[] = [];
  const requests: Collector['requests'] = [];
  let answering: ((response: ServerResponse) => void) | null = null;
  let open = 0;
  const server = createServer(async (request, response) => {
    open += 1;
    response.on('close', () => {
      open -= 1;
    });
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const sent = Buffer.concat(parts);
    const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString('utf8');
    requests.push({ path: request.url ?? '', headers: request.headers, body });
    if (answering !== null) return answering(response);
    spans.push(...readSpans(JSON.parse(body)));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  let port = 0;
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    spans,
    requests,
    get open() {
      return open;
    },
    answer(next) {
      answering = next;
    },
  };
}

const readSpans = ({ resourceSpans }: OtlpBody): CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: KINDS[span.kind] ?? 'unspecified',
        attributes: readAttributes(span.attributes),
        resource: readAttributes(resource.attributes),
        failed: span.status.code === ERROR,
        message: span.status.message,
      })),
    ),
  );

const readAttributes = (attributes: OtlpSpan['attributes']): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
