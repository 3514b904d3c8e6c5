import type { SpanAttributes, SpanError, Tracing } from '../../tracing/tracing.ts';
import type { Answer, Poster, PostRequest } from './post.ts';

/**
 * Sends one POST as a span of its own, which the header `traceparent` names to the receiver. The URL is left out except for its host
 * and port, because its path and query may hold credentials.
 */
export async function postTraced(
  tracing: Tracing,
  poster: Poster,
  request: PostRequest,
  { parent, attributes }: { parent: string | null | undefined; attributes: SpanAttributes },
): Promise<Answer> {
  const { protocol, hostname, port } = new URL(request.origin);
  const span = tracing.begin({
    name: 'POST',
    kind: 'client',
    parent,
    attributes: {
      'http.request.method': 'POST',
      'url.scheme': protocol.slice(0, -1),
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      ...attributes,
    },
  });
  const headers = { ...request.headers, traceparent: span.traceparent };
  const answer = await poster.post({ ...request, headers });
  if (answer.status !== null) span.set({ 'http.response.status_code': answer.status });
  span.end(errorOf(answer));
  return answer;
}

/** What counts as a failed attempt: everything but a 2xx. */
function errorOf({ status, error, refused, aborted }: Answer): SpanError | undefined {
  if (status !== null) return status >= 200 && status < 300 ? undefined : { type: String(status) };
  const [, code] = /^([A-Z][A-Z0-9_]+): /.exec(error ?? '') ?? [];
  const type = refused ? 'address_not_allowed' : aborted ? 'aborted' : (code ?? '_OTHER');
  return { type, message: error ?? undefined };
}
