import type { Sql } from '../platform/database/transaction.ts';
import { MOVEMENT_COLUMNS } from './movement-columns.ts';
import type { Delivery, LoggedEvent, LoggedMovement } from './run/types.ts';

/** Reads the retries of a webhook that are due, with the movements or the operational events that they are of. */

/**
 * Movements or events are joined after the limit has been applied. In a direct join, the optimiser may read and sort all retries of the
 * webhook. Index: retries_due.
 */
const DUE = (order: 'due_at' | 'transaction_id') => `
  SELECT transaction_id, attempts, failures, TIMESTAMPDIFF(MICROSECOND, NOW(6), due_at) / 1000 AS due_in
  FROM retries FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NOT NULL ORDER BY ${order} LIMIT ?`;

const WITH_MOVEMENTS = (due: string) => `
  SELECT STRAIGHT_JOIN r.transaction_id AS id, r.attempts, r.failures, r.due_in, ${MOVEMENT_COLUMNS}
  FROM (${due}) r
  LEFT JOIN transactions t ON t.id = r.transaction_id
  LEFT JOIN accounts a ON a.id = t.account_id
  LEFT JOIN banks b ON b.id = a.bank_id`;

const WITH_EVENTS = (due: string) => `
  SELECT STRAIGHT_JOIN r.transaction_id AS id, r.attempts, r.failures, r.due_in, e.type, e.account_id, e.data,
    DATE_FORMAT(e.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS timestamp,
    TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.created_at) AS stored_at
  FROM (${due}) r
  LEFT JOIN operational_events e ON e.id = r.transaction_id`;

interface DueRow {
  id: string;
  attempts: number;
  failures: number;
  due_in: string;
}

type MovementRow = DueRow & Omit<LoggedMovement, 'transaction_id'> & { transaction_id: string | null };
type EventRow = DueRow & Omit<LoggedEvent, 'type'> & { type: string | null };

/** Retries of one webhook that are due. */
export interface RetriesRead {
  deliveries: Delivery[];
  /** Milliseconds until the next retry that is not among them; 0: more are due. null: there is none. */
  nextIn: number | null;
}

/**
 * Reads the retries of a webhook that are due, the longest due first. For an ordered webhook, the limit counts from the lowest
 * transaction id: with a limit of 1, only the first retry in its order is read, if it is due.
 * @param options.ofEvents the webhook is sent events in place of movements.
 */
export async function readRetries(
  sql: Sql,
  webhookId: string,
  { ordered, limit, ofEvents = false }: { ordered: boolean; limit: number; ofEvents?: boolean },
): Promise<RetriesRead> {
  const due = DUE(ordered ? 'transaction_id' : 'due_at');
  const values = [webhookId, limit];
  if (ofEvents) return toRead(await sql.query<EventRow[]>(WITH_EVENTS(due), values), limit, toEventDelivery);
  return toRead(await sql.query<MovementRow[]>(WITH_MOVEMENTS(due), values), limit, toDelivery);
}

function toRead<Row extends DueRow>(
  rows: Row[],
  limit: number,
  toDeliveryOf: (row: Row) => Delivery,
): RetriesRead {
  rows.sort((one, other) => Number(one.due_in) - Number(other.due_in));
  const due = rows.filter(({ due_in }) => Number(due_in) <= 0);
  const later = rows.find(({ due_in }) => Number(due_in) > 0);
  const nextIn = later === undefined ? (due.length === limit ? 0 : null) : Number(later.due_in);
  return { deliveries: due.map(toDeliveryOf), nextIn };
}

function toDelivery({ id, attempts, failures, transaction_id, ...movement }: MovementRow): Delivery {
  return {
    transactionId: Number(id),
    source: 'retries',
    attempts,
    failures,
    movement: transaction_id === null ? null : { ...movement, transaction_id },
  };
}

function toEventDelivery({ id, attempts, failures, type, ...event }: EventRow): Delivery {
  return {
    transactionId: Number(id),
    source: 'retries',
    attempts,
    failures,
    movement: type === null ? null : { ...event, type },
  };
}

/** Turns a movement of the log into a delivery that was never attempted. */
export const toNewDelivery = (movement: LoggedMovement): Delivery => ({
  transactionId: Number(movement.transaction_id),
  source: 'log',
  attempts: 0,
  failures: 0,
  movement,
});

/** A movement of an account that is being deleted counts as deleted already: its delivery fails for good, and is not sent. */
export function withoutDeleted(
  deliveries: readonly Delivery[],
  deletedAccounts: readonly string[],
): Delivery[] {
  const deleted = new Set(deletedAccounts);
  return deliveries.map((delivery) =>
    deleted.has(delivery.movement?.account_id ?? '') ? { ...delivery, movement: null } : delivery,
  );
}
