import type { Sql } from '../database/transaction.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { formatDeliveryId } from './delivery-id.ts';
import type { Answer, Poster, PostRequest } from './posting/post.ts';
import { postTraced } from './posting/traced-post.ts';
import type { Delivery } from './run/types.ts';

/** The traces of attempts. Each attempt is a span below the one that its movement was imported with, also hours later. */

/** Indexes: the primary keys. */
const READ = `
  SELECT t.id, t.import_id, i.traceparent FROM transactions t LEFT JOIN imports i ON i.id = t.import_id WHERE t.id IN (?)`;

interface Origin {
  id: string;
  import_id: string;
  /** NULL: traces were off when the import was accepted. */
  traceparent: string | null;
}

export interface AttemptTraces {
  /** Reads which traces the attempts of these deliveries belong to. Those for which that fails begin traces of their own. Never rejects. */
  read(deliveries: readonly Delivery[]): Promise<void>;
  post(
    request: PostRequest,
    attempt: { webhookId: string; customerId: string; delivery: Delivery },
  ): Promise<Answer>;
}

export function createAttemptTraces(database: Sql, poster: Poster, tracing: Tracing): AttemptTraces {
  /** By movement, because webhooks with the same filter share movements that were read. */
  const origins = new WeakMap<NonNullable<Delivery['movement']>, Origin>();

  return {
    async read(deliveries) {
      const unknown = deliveries.flatMap(({ movement, transactionId }) =>
        movement === null || origins.has(movement) ? [] : [{ movement, id: String(transactionId) }],
      );
      if (unknown.length === 0) return;
      const ids = unknown.map(({ id }) => id);
      // If MySQL is unreachable, the run itself finds out and reports it.
      const rows = await database.query<Origin[]>(READ, [ids]).catch(() => []);
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const { movement, id } of unknown) {
        const origin = byId.get(id);
        if (origin !== undefined) origins.set(movement, origin);
      }
    },
    post(request, { webhookId, customerId, delivery }) {
      const { movement, transactionId, attempts } = delivery;
      const origin = movement === null ? undefined : origins.get(movement);
      return postTraced(tracing, poster, request, {
        parent: origin?.traceparent,
        attributes: {
          'ledgerbell.customer.id': Number(customerId),
          'ledgerbell.webhook.id': Number(webhookId),
          'ledgerbell.delivery.id': formatDeliveryId({ webhookId, transactionId: String(transactionId) }),
          'ledgerbell.delivery.attempt': attempts + 1,
          ...(attempts === 0 ? {} : { 'http.request.resend_count': attempts }),
          ...(origin === undefined ? {} : { 'ledgerbell.import.id': Number(origin.import_id) }),
        },
      });
    },
  };
}
