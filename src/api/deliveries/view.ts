import * as v from 'valibot';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'cancelled'] as const;

export const DeliveryView = v.object({
  id: v.string(),
  webhook_id: v.string(),
  transaction_id: v.string(),
  status: v.picklist(DELIVERY_STATUSES),
  attempts: v.number(),
  due_at: v.nullable(v.string()),
  created_at: v.string(),
  finished_at: v.nullable(v.string()),
});

export const AttemptView = v.object({
  number: v.number(),
  outcome: v.picklist(['delivered', 'failed', 'throttled', 'gone', 'refused']),
  status_code: v.nullable(v.number()),
  started_at: v.string(),
  duration_ms: v.number(),
  error: v.nullable(v.string()),
  response: v.nullable(v.string()),
});

/** The columns that `viewDelivery` needs, of `deliveries d`. */
export const DELIVERY_COLUMNS =
  'd.id, d.webhook_id, d.transaction_id, d.status, d.attempts, d.due_at, d.created_at, d.finished_at';

export interface DeliveryRow {
  id: string;
  webhook_id: string;
  transaction_id: string;
  status: (typeof DELIVERY_STATUSES)[number];
  attempts: number;
  due_at: Date | null;
  created_at: Date;
  finished_at: Date | null;
}

/** What is due at once has no moment of its own in the table (1970): it is shown as due since it came to be owed. */
export const viewDelivery = (row: DeliveryRow) => ({
  id: row.id,
  webhook_id: row.webhook_id,
  transaction_id: row.transaction_id,
  status: row.status,
  attempts: row.attempts,
  due_at: row.due_at?.getTime() === 0 ? row.created_at.toISOString() : (row.due_at?.toISOString() ?? null),
  created_at: row.created_at.toISOString(),
  finished_at: row.finished_at?.toISOString() ?? null,
});

export interface AttemptRow {
  number: number;
  outcome: string;
  status_code: number | null;
  started_at: Date;
  duration_ms: number;
  error: string | null;
  response: string | null;
}

export const viewAttempt = ({ started_at, ...row }: AttemptRow) => ({
  number: row.number,
  outcome: row.outcome,
  status_code: row.status_code,
  started_at: started_at.toISOString(),
  duration_ms: row.duration_ms,
  error: row.error,
  response: row.response,
});
