import * as v from 'valibot';
import type { Sql } from '../database/transaction.ts';
import { Count, Timestamp, withExample } from '../platform/validation.ts';
import { type DeliveryKey, formatBatchId } from './delivery-id.ts';

/** Reads the batches with a delivery that the receiver has rejected as a whole. */

export interface RejectedBatchRow {
  webhook_id: string;
  first_id: string;
  events: number;
  status_code: number;
  started_at: Date;
  duration_ms: number;
  response: string | null;
}

/** Index: rejected_batches_webhook, which has at most a hundred or so rows of a webhook. */
const READ_REJECTED_BATCHES = `
  SELECT webhook_id, first_id, events, status_code, started_at, duration_ms, response FROM rejected_batches
  WHERE webhook_id = ? AND first_id <= ? AND last_id >= ? ORDER BY id`;

/** Reads the rejected batches whose range of ids holds a delivery, from the first to the last. */
export const readRejectedBatches = (
  sql: Sql,
  { webhookId, subjectId }: DeliveryKey,
): Promise<RejectedBatchRow[]> =>
  sql.query<RejectedBatchRow[]>(READ_REJECTED_BATCHES, [webhookId, subjectId, subjectId]);

export const RejectedBatchView = withExample(
  v.object({
    batch: v.pipe(v.string(), v.description('The webhook-id of the batch.')),
    events: v.pipe(Count, v.description('How many events the batch had.')),
    status_code: Count,
    started_at: Timestamp,
    duration_ms: Count,
    response: v.nullable(v.string()),
  }),
  {
    batch: 'msg_1-4-1764525600000',
    events: 9,
    status_code: 413,
    started_at: '2025-11-30T18:00:00.000Z',
    duration_ms: 42,
    response: 'Too large.',
  },
);

export const viewRejectedBatch = ({ webhook_id, first_id, started_at, ...row }: RejectedBatchRow) => ({
  batch: formatBatchId({ webhookId: webhook_id, first: first_id, startedAt: started_at.getTime() }),
  events: row.events,
  status_code: row.status_code,
  started_at: started_at.toISOString(),
  duration_ms: row.duration_ms,
  response: row.response,
});
