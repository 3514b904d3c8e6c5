import type { Sql, WriteResult } from '../database/transaction.ts';
import { joinSettings } from '../webhook-record/record.ts';

/** Records operational events: what a customer or the operator should know about. docs/operational-events.md describes each type. */

export const EVENT_TYPES = [
  'webhook.failing',
  'webhook.disabled',
  'webhook.quarantined',
  'webhook.behind',
  'webhook.caught_up',
  'webhook.flapping',
  'webhook.stable',
  'delivery.failed',
  'import.failed',
  'import.stuck',
  'movement.conflict',
  'statement.gap',
  'statement.contradiction',
  'statement.late',
  'source.failing',
  'delivery.stalled',
  'process.killed',
] as const;
type EventType = (typeof EVENT_TYPES)[number];

/** The type of the events for BALANCE_UPDATED webhooks. Other webhooks are not sent these events. */
export const BALANCE_UPDATED = 'balance.updated';

export interface OperationalEvent {
  type: EventType;
  /** null: the event concerns only the operator. */
  customerId: string | null;
  /** The webhook that the event is about. The event is not sent to that webhook. */
  webhookId?: string;
  /** The account that the event is about. The event is deleted with the account. */
  accountId?: string;
  /** Two events with the same occasion are stored only once. Not needed if the caller's transaction prevents duplicates. */
  occasion?: string;
  /** The member `data` of the notification. */
  data: Record<string, unknown>;
}

/** The most events of one type for a customer in an hour, so that no fault floods its receivers. */
export const MOST_PER_HOUR = 100;

/** Index: operational_events_recent. */
const COUNT_RECENT = `
  SELECT COUNT(*) AS number, MIN(created_at) + INTERVAL 1 HOUR AS free_at
  FROM operational_events FORCE INDEX (operational_events_recent)
  WHERE customer_id <=> ? AND type = ? AND created_at > NOW(6) - INTERVAL 1 HOUR`;

const ADD_EVENT = `
  INSERT INTO operational_events (customer_id, webhook_id, account_id, type, occasion, data) VALUES (?, ?, ?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE id = id`;

/**
 * Records an operational event. `dispatchEvents` makes its deliveries within 10 s. The last event that the limit per hour allows says
 * until when others may be left out (`suppressed_until`).
 * @param sql the transaction of the change that the event reports, so that both are stored or neither. Record the event last.
 * @returns false when the event was recorded before, or exceeds the limit per hour.
 */
export async function recordEvent(sql: Sql, event: OperationalEvent): Promise<boolean> {
  const { type, customerId, webhookId = null, accountId = null, occasion = null, data } = event;
  const [recent] = await sql.query<{ number: string | number; free_at: Date | null }[]>(COUNT_RECENT, [
    customerId,
    type,
  ]);
  const others = Number(recent?.number ?? 0);
  if (others >= MOST_PER_HOUR) return false;
  const isLast = others === MOST_PER_HOUR - 1;
  const reported = isLast ? { ...data, suppressed_until: recent?.free_at?.toISOString() } : data;
  const { affectedRows } = await sql.query<WriteResult>(ADD_EVENT, [
    customerId,
    webhookId,
    accountId,
    type,
    occasion,
    JSON.stringify(reported),
  ]);
  return affectedRows === 1;
}

const ADD_BALANCE = `
  INSERT INTO operational_events (customer_id, account_id, type, data) VALUES (?, ?, '${BALANCE_UPDATED}', ?)`;

/**
 * Records a balance for BALANCE_UPDATED webhooks. There is no limit per hour.
 * @param sql the transaction that marks the balance as reported.
 */
export async function recordBalance(
  sql: Sql,
  { customerId, accountId, data }: { customerId: string; accountId: string; data: Record<string, unknown> },
): Promise<void> {
  await sql.query(ADD_BALANCE, [customerId, accountId, JSON.stringify(data)]);
}

/** Index: operational_events_occasion. */
const FIND_RECORDED = 'SELECT occasion FROM operational_events WHERE occasion IN (?)';

/** @returns the occasions that already have an event. */
export async function findRecorded(sql: Sql, occasions: readonly string[]): Promise<Set<string>> {
  if (occasions.length === 0) return new Set();
  const rows = await sql.query<{ occasion: string }[]>(FIND_RECORDED, [occasions]);
  return new Set(rows.map(({ occasion }) => occasion));
}

/** The webhook that an event is about, as the event shows it. Only the endpoint's origin is shown, because a path may hold a token. */
interface WebhookSubject {
  id: number;
  title: string;
  event: string;
  origin: string;
}

/** Columns of `webhooks w` for `toSubject`. @param settings alias of `webhooks`, see `joinSettings`. */
export const subjectColumns = (settings: string): string =>
  `w.id AS subject_id, ${settings}.title, w.event, SUBSTRING_INDEX(${settings}.endpoint, '/', 3) AS origin`;

export interface SubjectRow {
  subject_id: string;
  title: string;
  event: string;
  origin: string;
}

export const toSubject = ({ subject_id, title, event, origin }: SubjectRow): WebhookSubject => ({
  id: Number(subject_id),
  title,
  event,
  origin,
});

/** Index: the primary key. */
const READ_SUBJECT = `SELECT ${subjectColumns('s')} FROM webhooks w ${joinSettings('w', 's')} WHERE w.id = ?`;

/** @throws {Error} when there is no such webhook. */
export async function readSubject(sql: Sql, webhookId: string): Promise<WebhookSubject> {
  const [row] = await sql.query<SubjectRow[]>(READ_SUBJECT, [webhookId]);
  if (row === undefined) throw new Error(`webhook ${webhookId} does not exist`);
  return toSubject(row);
}
