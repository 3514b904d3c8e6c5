import type { Sql, WriteResult } from '../../platform/database/transaction.ts';

/** Events that a customer or the operator should know of. docs/operational-events.md describes each type. */
export const EVENT_TYPES = [
  'webhook.failing',
  'webhook.disabled',
  'webhook.quarantined',
  'delivery.failed',
  'import.failed',
  'import.stuck',
  'movement.conflict',
  'statement.gap',
  'statement.contradiction',
  'statement.late',
  'source.failing',
  'delivery.stalled',
] as const;
type EventType = (typeof EVENT_TYPES)[number];

/** The type of the events for webhooks with the event BALANCE_UPDATED. No other webhook is sent them. */
export const BALANCE_UPDATED = 'balance.updated';

export interface OperationalEvent {
  type: EventType;
  /** null: it concerns the operator alone. */
  customerId: string | null;
  /** The webhook that it is about. It is not sent to that one. */
  webhookId?: string;
  /** The account that it is about, with which it is deleted. */
  accountId?: string;
  /** Equal for events that must exist only once. Left out where the caller's transaction sees to that. */
  occasion?: string;
  /** The member `data` of the notification. */
  data: Record<string, unknown>;
}

/** The most events of one type for a customer in an hour, so that no fault floods its receivers. */
export const MOST_PER_HOUR = 100;

/** Index: operational_events_recent. */
const RECENT = `
  SELECT COUNT(*) AS number, MIN(created_at) + INTERVAL 1 HOUR AS free_at
  FROM operational_events FORCE INDEX (operational_events_recent)
  WHERE customer_id <=> ? AND type = ? AND created_at > NOW(6) - INTERVAL 1 HOUR`;

const INSERT = `
  INSERT INTO operational_events (customer_id, webhook_id, account_id, type, occasion, data) VALUES (?, ?, ?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE id = id`;

/**
 * Records an operational event. `dispatchEvents` makes its deliveries within 10 s. The last event that fits into the hour says until
 * when others may be left out (`suppressed_until`).
 * @param sql the transaction of what the event reports, so that neither is stored without the other. It is the last thing it does.
 * @returns false when the event was recorded before, or is one too many in this hour.
 */
export async function recordEvent(sql: Sql, event: OperationalEvent): Promise<boolean> {
  const { type, customerId, webhookId = null, accountId = null, occasion = null, data } = event;
  const [recent] = await sql.query<{ number: string | number; free_at: Date | null }[]>(RECENT, [
    customerId,
    type,
  ]);
  const others = Number(recent?.number ?? 0);
  if (others >= MOST_PER_HOUR) return false;
  const isLast = others === MOST_PER_HOUR - 1;
  const reported = isLast ? { ...data, suppressed_until: recent?.free_at?.toISOString() } : data;
  const { affectedRows } = await sql.query<WriteResult>(INSERT, [
    customerId,
    webhookId,
    accountId,
    type,
    occasion,
    JSON.stringify(reported),
  ]);
  return affectedRows === 1;
}

const INSERT_BALANCE = `
  INSERT INTO operational_events (customer_id, account_id, type, data) VALUES (?, ?, '${BALANCE_UPDATED}', ?)`;

/**
 * Records a balance for BALANCE_UPDATED webhooks, however many there are: none of them is left out.
 * @param sql the transaction that notes that it was told.
 */
export async function recordBalance(
  sql: Sql,
  { customerId, accountId, data }: { customerId: string; accountId: string; data: Record<string, unknown> },
): Promise<void> {
  await sql.query(INSERT_BALANCE, [customerId, accountId, JSON.stringify(data)]);
}

/** Index: operational_events_occasion. */
const RECORDED = 'SELECT occasion FROM operational_events WHERE occasion IN (?)';

/** @returns those of the occasions for which there is an event already. */
export async function findRecorded(sql: Sql, occasions: readonly string[]): Promise<Set<string>> {
  if (occasions.length === 0) return new Set();
  const rows = await sql.query<{ occasion: string }[]>(RECORDED, [occasions]);
  return new Set(rows.map(({ occasion }) => occasion));
}
