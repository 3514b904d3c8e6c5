import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { formatDeliveryId } from './delivery-id.ts';
import { readWaitingWebhooks, STALLED_AFTER_MINUTES } from './reconcile.ts';
import { DISABLE_AFTER_DAYS } from './run/attempt.ts';

/** Events that a customer or the operator should know about. docs/operational-events.md describes each type. */
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
const RECENT = `
  SELECT COUNT(*) AS number, MIN(created_at) + INTERVAL 1 HOUR AS free_at
  FROM operational_events FORCE INDEX (operational_events_recent)
  WHERE customer_id <=> ? AND type = ? AND created_at > NOW(6) - INTERVAL 1 HOUR`;

const INSERT = `
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
 * Records a balance for BALANCE_UPDATED webhooks. There is no limit per hour.
 * @param sql the transaction that marks the balance as reported.
 */
export async function recordBalance(
  sql: Sql,
  { customerId, accountId, data }: { customerId: string; accountId: string; data: Record<string, unknown> },
): Promise<void> {
  await sql.query(INSERT_BALANCE, [customerId, accountId, JSON.stringify(data)]);
}

/** Index: operational_events_occasion. */
const RECORDED = 'SELECT occasion FROM operational_events WHERE occasion IN (?)';

/** @returns the occasions that already have an event. */
export async function findRecorded(sql: Sql, occasions: readonly string[]): Promise<Set<string>> {
  if (occasions.length === 0) return new Set();
  const rows = await sql.query<{ occasion: string }[]>(RECORDED, [occasions]);
  return new Set(rows.map(({ occasion }) => occasion));
}

/** The webhook that an event is about, as the event shows it. Only the endpoint's origin is shown, because a path may hold a token. */
interface WebhookSubject {
  id: number;
  title: string;
  event: string;
  origin: string;
}

/** Columns of `webhooks w` for `toSubject`. */
const SUBJECT_COLUMNS = "w.id AS subject_id, w.title, w.event, SUBSTRING_INDEX(w.endpoint, '/', 3) AS origin";

interface SubjectRow {
  subject_id: string;
  title: string;
  event: string;
  origin: string;
}

const toSubject = ({ subject_id, title, event, origin }: SubjectRow): WebhookSubject => ({
  id: Number(subject_id),
  title,
  event,
  origin,
});

/** Index: the primary key. */
const READ = `SELECT ${SUBJECT_COLUMNS} FROM webhooks w WHERE w.id = ?`;

/** @throws {Error} when there is no such webhook. */
export async function readSubject(sql: Sql, webhookId: string): Promise<WebhookSubject> {
  const [row] = await sql.query<SubjectRow[]>(READ, [webhookId]);
  if (row === undefined) throw new Error(`webhook ${webhookId} does not exist`);
  return toSubject(row);
}

/** Reports webhooks that are on their way to being disabled. */

const DAY_SECONDS = 24 * 60 * 60;
const DISABLE_AFTER_SECONDS = DISABLE_AFTER_DAYS * DAY_SECONDS;

/** After these percentages of the time until a webhook is disabled, its owner is told. In descending order. */
const PERCENTAGES = [90, 70, 50] as const;
const FIRST_PERCENTAGE = 50;

/**
 * Finds only webhooks with a failed attempt on each day so far, because after a day without one the count begins again. Index:
 * webhook_cursors_failing.
 */
const FAILING = `
  SELECT ${SUBJECT_COLUMNS}, w.customer_id, c.failing_since, c.last_error,
    TIMESTAMPDIFF(SECOND, c.failing_since, NOW(6)) AS failing_for
  FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id
  WHERE w.status = 'active' AND c.failing_since <= NOW(6) - INTERVAL ? SECOND
    AND FLOOR(TIMESTAMPDIFF(SECOND, c.failing_since, NOW(6)) / ${DAY_SECONDS}) <= c.failing_days`;

type Row = SubjectRow & {
  customer_id: string;
  failing_since: Date;
  last_error: string | null;
  failing_for: string | number;
};

/**
 * Records a `webhook.failing` for each webhook that has passed 50, 70 or 90 % of the time until it is disabled. In a period of failures,
 * each percentage is recorded once. If several have passed since the last check, only the highest is recorded.
 */
export async function reportFailingWebhooks(database: DataSource): Promise<void> {
  const rows = await database.query<Row[]>(FAILING, [(DISABLE_AFTER_SECONDS * FIRST_PERCENTAGE) / 100]);
  const due = rows.map((row) => {
    const percent = percentageOf(Number(row.failing_for));
    return { row, percent, occasion: occasionOf(row, percent) };
  });
  const recorded = await findRecorded(
    database,
    due.map(({ occasion }) => occasion),
  );
  for (const { row, percent, occasion } of due) {
    if (recorded.has(occasion)) continue;
    const { customer_id: customerId, subject_id: webhookId, failing_since, last_error } = row;
    const disabledAt = new Date(failing_since.getTime() + DISABLE_AFTER_SECONDS * 1_000);
    await inTransaction(database, (sql) =>
      recordEvent(sql, {
        type: 'webhook.failing',
        customerId,
        webhookId,
        occasion,
        data: {
          customer_id: Number(customerId),
          webhook: toSubject(row),
          percent,
          failing_since: failing_since.toISOString(),
          disabled_at: disabledAt.toISOString(),
          last_error,
        },
      }),
    );
  }
}

const percentageOf = (failingSeconds: number): number =>
  PERCENTAGES.find((it) => failingSeconds * 100 >= it * DISABLE_AFTER_SECONDS) ?? FIRST_PERCENTAGE;

const occasionOf = ({ subject_id, failing_since }: Row, percent: number): string =>
  `webhook.failing ${subject_id} ${failing_since.toISOString()} ${percent}`;

/** Reports deliveries that have failed for good. The first report is immediate. Further reports come at most once an hour per webhook. */

/** The most ids in one event. The API lists all of them. */
const MOST_IDS = 10;

/** Also true if the clock was set back since the last report. */
const IS_DUE = `
  c.unreported_failures > 0 AND (c.failures_reported_at IS NULL OR c.failures_reported_at > NOW(6)
    OR c.failures_reported_at <= NOW(6) - INTERVAL 1 HOUR)`;

/** Leaves out deliveries of operational events, because reporting them would cause a loop. Reads each webhook's cursor once. */
const UNREPORTED = `
  SELECT c.webhook_id FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id
  WHERE w.status <> 'deleted' AND w.event <> 'OPERATIONAL' AND ${IS_DUE}`;

const LOCK = `
  SELECT c.customer_id, c.unreported_failures, c.last_error FROM webhook_cursors c
  WHERE c.webhook_id = ? AND ${IS_DUE} FOR UPDATE`;

/** Index: retries_due, which holds the dead letters in the order of their movements. */
const NEWEST = `
  SELECT transaction_id FROM retries FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NULL ORDER BY transaction_id DESC LIMIT ${MOST_IDS}`;

const REPORTED = `
  UPDATE webhook_cursors SET unreported_failures = 0, failures_reported_at = NOW(6) WHERE webhook_id = ?`;

/** Records a `delivery.failed` for each webhook with failures that were not reported yet. */
export async function reportFailedDeliveries(database: DataSource): Promise<void> {
  const rows = await database.query<{ webhook_id: string }[]>(UNREPORTED);
  for (const { webhook_id } of rows) await inTransaction(database, (sql) => report(sql, webhook_id));
}

async function report(sql: Sql, webhookId: string): Promise<void> {
  const [cursor] = await sql.query<
    { customer_id: string; unreported_failures: string; last_error: string | null }[]
  >(LOCK, [webhookId]);
  if (cursor === undefined) return;
  const { customer_id: customerId, unreported_failures, last_error } = cursor;
  const newest = await sql.query<{ transaction_id: string }[]>(NEWEST, [webhookId]);
  const isRecorded = await recordEvent(sql, {
    type: 'delivery.failed',
    customerId,
    webhookId,
    data: {
      customer_id: Number(customerId),
      webhook: await readSubject(sql, webhookId),
      failed: Number(unreported_failures),
      delivery_ids: newest.map(({ transaction_id: subjectId }) => formatDeliveryId({ webhookId, subjectId })),
      last_error,
    },
  });
  // If the event was not recorded, these failures are reported together with later failures.
  if (isRecorded) await sql.query(REPORTED, [webhookId]);
}

/** Reports webhooks that make no progress although their endpoints answer. */

/** Index: operational_events_recent. */
const STALLED_REPORTED = `
  SELECT 1 FROM operational_events FORCE INDEX (operational_events_recent)
  WHERE customer_id IS NULL AND type = 'delivery.stalled' AND created_at > NOW(6) - INTERVAL 1 HOUR LIMIT 1`;

/** The same in all processes within an hour. */
const HOUR = "SELECT DATE_FORMAT(NOW(6), '%Y-%m-%d %H') AS hour";

/**
 * Records a `delivery.stalled` for the operator, at most once an hour, if a webhook makes no progress although it has an unsent movement
 * older than ten minutes. A large backlog that is being sent is not stalled.
 */
export async function reportStalledDeliveries(database: DataSource): Promise<void> {
  const waiting = await readWaitingWebhooks(database, { failing: false, stalled: true });
  const stalled = waiting.filter(({ seconds }) => seconds > STALLED_AFTER_MINUTES * 60);
  const [oldest] = stalled;
  if (oldest === undefined) return;
  await inTransaction(database, async (sql) => {
    const reported = await sql.query<unknown[]>(STALLED_REPORTED);
    if (reported.length > 0) return;
    const [now] = await sql.query<{ hour: string }[]>(HOUR);
    await recordEvent(sql, {
      type: 'delivery.stalled',
      customerId: null,
      occasion: `delivery.stalled ${now?.hour}`,
      data: { webhooks: stalled.length, oldest_seconds: Math.floor(oldest.seconds) },
    });
  });
}
