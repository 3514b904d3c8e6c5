import type { Sql } from '../../database/transaction.ts';
import type { SpanAttributes, SpanError, Tracing } from '../../platform/tracing.ts';
import { formatDeliveryId } from '../delivery-id.ts';
import type { Delivery } from '../run/types.ts';
import type { Poster } from './post.ts';
import type { Answer, PostRequest } from './types.ts';

/** The traces of attempts. The span of each attempt is a child of the span that imported its movement, even hours later. */

/** Indexes: the primary keys. */
const READ_ORIGINS = `
  SELECT t.id, t.import_id, i.traceparent FROM transactions t LEFT JOIN imports i ON i.id = t.import_id WHERE t.id IN (?)`;

interface Origin {
  id: string;
  import_id: string;
  /** NULL: traces were off when the import was accepted. */
  traceparent: string | null;
}

export interface AttemptTraces {
  /** Reads the traces to which the attempts of these deliveries belong. If that fails, attempts begin their own traces. Never rejects. */
  read(deliveries: readonly Delivery[]): Promise<void>;
  post(
    request: PostRequest,
    attempt: { webhookId: string; customerId: string; delivery: Delivery },
  ): Promise<Answer>;
}

export function createAttemptTraces(database: Sql, poster: Poster, tracing: Tracing): AttemptTraces {
  /** By content, because webhooks with the same filter share their movements. */
  const origins = new WeakMap<NonNullable<Delivery['content']>, Origin>();

  return {
    async read(deliveries) {
      const unknown = deliveries.flatMap(({ content, subjectId }) =>
        content === null || origins.has(content) ? [] : [{ content, id: String(subjectId) }],
      );
      if (unknown.length === 0) return;
      const ids = unknown.map(({ id }) => id);
      // If MySQL is unreachable, the run itself finds out and reports it.
      const rows = await database.query<Origin[]>(READ_ORIGINS, [ids]).catch(() => []);
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const { content, id } of unknown) {
        const origin = byId.get(id);
        if (origin !== undefined) origins.set(content, origin);
      }
    },
    post(request, { webhookId, customerId, delivery }) {
      const { content, subjectId, attempts } = delivery;
      const origin = content === null ? undefined : origins.get(content);
      return postTraced(tracing, poster, request, {
        parent: origin?.traceparent,
        attributes: {
          'ledgerbell.customer.id': Number(customerId),
          'ledgerbell.webhook.id': Number(webhookId),
          'ledgerbell.delivery.id': formatDeliveryId({ webhookId, subjectId: String(subjectId) }),
          'ledgerbell.delivery.attempt': attempts + 1,
          ...(attempts === 0 ? {} : { 'http.request.resend_count': attempts }),
          ...(origin === undefined ? {} : { 'ledgerbell.import.id': Number(origin.import_id) }),
        },
      });
    },
  };
}

/**
 * Sends one POST in its own span. The header `traceparent` passes the span to the receiver. The span has only the host and port of the
 * URL, because the path and query may hold credentials.
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
  // version-traceid-parentid-flags
  const [, traceId = ''] = span.traceparent.split('-');
  return { ...answer, traceId };
}

/** Everything but a 2xx is a failed attempt. */
function errorOf({ status, error, refused, aborted }: Answer): SpanError | undefined {
  if (status !== null) return status >= 200 && status < 300 ? undefined : { type: String(status) };
  const [, code] = /^([A-Z][A-Z0-9_]+): /.exec(error ?? '') ?? [];
  const type = refused ? 'address_not_allowed' : aborted ? 'aborted' : (code ?? '_OTHER');
  return { type, message: error ?? undefined };
}
