import * as v from 'valibot';
import { EVENTS_WITHOUT_MOVEMENTS } from '../database/webhook-enums.ts';
import { Count, IdView, Timestamp } from '../platform/validation.ts';
import { formatDeliveryId } from './delivery-id.ts';

/** The statuses that a listing can be limited to. */
export const LISTED_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type ListedStatus = (typeof LISTED_STATUSES)[number];

/** The statuses that a delivery can be replayed from. */
export const REPLAYABLE = ['failed', 'delivered'] as const;
export type Replayable = (typeof REPLAYABLE)[number];

export const DELIVERY_ID_PATTERN = /^[1-9][0-9]{0,15}-[1-9][0-9]{0,15}$/;

export const DeliveryView = v.object({
  id: v.pipe(
    v.string(),
    v.regex(DELIVERY_ID_PATTERN),
    v.description('<webhook_id>-<transaction_id>, or <webhook_id>-<event_id>'),
  ),
  webhook_id: IdView,
  transaction_id: v.pipe(
    v.nullable(IdView),
    v.description(
      'null: the delivery of an event, to a webhook with the event OPERATIONAL or BALANCE_UPDATED.',
    ),
  ),
  event_id: v.pipe(
    v.nullable(IdView),
    v.description('The id of the event. null: the delivery of a movement.'),
  ),
  status: v.pipe(
    v.picklist([...LISTED_STATUSES, 'cancelled']),
    v.description('cancelled: the webhook was deleted before the movement was delivered.'),
  ),
  attempts: Count,
  due_at: v.nullable(Timestamp),
  created_at: Timestamp,
  finished_at: v.nullable(Timestamp),
  last_error: v.nullable(v.string()),
});

/** Stands in for `transactions t`: operational events with the columns of a movement that a delivery needs. */
export const EVENTS_AS_MOVEMENTS = `(
  SELECT id, customer_id, account_id, NULL AS dc, created_at AS date_readed FROM operational_events) t`;

/**
 * The columns that `viewDelivery` needs from `webhooks w`, `transactions t`, `deliveries d` and `retries r`. A delivery of a movement
 * that was never attempted has no row in the last two tables.
 */
export const DELIVERY_COLUMNS = `w.event IN ${EVENTS_WITHOUT_MOVEMENTS} AS is_event, t.id AS transaction_id, t.date_readed AS created_at, d.status, d.attempts, d.outcome,
  d.status_code, d.started_at, d.duration_ms, d.error, r.due_at`;

export interface DeliveryRow {
  webhook_id: string;
  /** 1: the delivery of an operational event. 0: of a movement. */
  is_event: number | string;
  /** The id of the movement or the event. */
  transaction_id: string;
  created_at: Date;
  /** This and the following columns are null if the delivery was never attempted. */
  status: ListedStatus | null;
  attempts: number | null;
  outcome: string | null;
  status_code: number | null;
  started_at: Date | null;
  duration_ms: number | null;
  error: string | null;
  due_at: Date | null;
}

export const statusOf = ({ status }: DeliveryRow) => status ?? 'pending';

/** @param webhookStatus if it is 'deleted', a pending delivery is shown as cancelled, because it is never sent. */
export function viewDelivery(row: DeliveryRow, webhookStatus?: string) {
  const status = statusOf(row);
  const cancelled = status === 'pending' && webhookStatus === 'deleted';
  const pending = status === 'pending' && !cancelled;
  const isEvent = Number(row.is_event) === 1;
  return {
    id: formatDeliveryId({ webhookId: row.webhook_id, transactionId: row.transaction_id }),
    webhook_id: Number(row.webhook_id),
    transaction_id: isEvent ? null : Number(row.transaction_id),
    event_id: isEvent ? Number(row.transaction_id) : null,
    status: cancelled ? ('cancelled' as const) : status,
    attempts: row.attempts ?? 0,
    due_at: pending ? (row.due_at ?? row.created_at).toISOString() : null,
    created_at: row.created_at.toISOString(),
    finished_at: status === 'pending' ? null : finishedAt(row),
    last_error: lastError(row),
  };
}

const finishedAt = ({ started_at, duration_ms }: DeliveryRow): string | null =>
  started_at === null ? null : new Date(started_at.getTime() + (duration_ms ?? 0)).toISOString();

/** The error of the last attempt. null: the attempt succeeded, or there was none. */
function lastError({ outcome, error, status_code }: DeliveryRow): string | null {
  if (outcome === null || outcome === 'delivered') return null;
  return error ?? (status_code === null ? null : `answered ${status_code}`);
}
