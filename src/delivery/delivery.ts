import * as v from 'valibot';
import { type Caller, isOperator, maySee } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS, isOfEvents } from '../database/webhook-enums.ts';
import { notFound } from '../platform/problem.ts';
import { Count, IdView, Timestamp, withExample } from '../platform/validation.ts';
import { concerns, matchesFilter } from '../webhook-record/filter.ts';
import { type DeliveryKey, formatDeliveryId } from './delivery-id.ts';
import { readFiltersAt } from './filters.ts';
import { SUBJECT, SUBJECTS_OF_MOVEMENT } from './subject.ts';

/** A delivery as the API and the console show it: its id, its status, and how it is found. */

/** @returns null when the text is not a delivery's id. */
export function parseDeliveryId(text: string): DeliveryKey | null {
  const [webhookId, subjectId] = DELIVERY_ID_PATTERN.test(text) ? text.split('-') : [];
  return webhookId === undefined || subjectId === undefined ? null : { webhookId, subjectId };
}

/** @throws {Problem} 404 when the text of a path cannot be the id of a delivery. */
export function requireDeliveryId(text: string | undefined): DeliveryKey {
  const key = parseDeliveryId(text ?? '');
  if (key === null) throw notFound('delivery');
  return key;
}

/** The statuses that a listing can be limited to. */
export const LISTED_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type ListedStatus = (typeof LISTED_STATUSES)[number];

/** The statuses that a delivery can be replayed from. */
export const REPLAYABLE = ['failed', 'delivered'] as const;
export type Replayable = (typeof REPLAYABLE)[number];

/** The id of a delivery: that of the webhook and that of what is sent. */
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
    withExample(v.nullable(IdView), 7),
    v.description(
      'The id of the event, also of the withdrawal of the movement. null: the delivery of a new movement.',
    ),
  ),
  status: v.pipe(
    v.picklist([...LISTED_STATUSES, 'cancelled']),
    v.description('cancelled: the webhook was deleted before the movement was delivered.'),
  ),
  attempts: Count,
  due_at: withExample(v.nullable(Timestamp), '2025-11-30T18:33:00.000Z'),
  created_at: Timestamp,
  finished_at: v.nullable(Timestamp),
  last_error: withExample(v.nullable(v.string()), 'The endpoint answered 503.'),
});

/** Stands in for `transactions t`: operational events with the columns of a movement that a delivery needs. */
export const EVENTS_AS_MOVEMENTS = `(
  SELECT id, customer_id, account_id, NULL AS dc, created_at AS date_readed, NULL AS withdraws FROM operational_events) t`;

/**
 * The columns that `viewDelivery` needs from `webhooks w`, `webhook_cursors c`, `transactions t`, `deliveries d` and `retries r`. A
 * delivery of a movement that was never attempted has no row in the last two tables. Neither has one of a feed, which its position tells.
 */
export const DELIVERY_COLUMNS = `w.event IN ${EVENTS_WITHOUT_MOVEMENTS} AS is_event, t.id AS transaction_id, t.withdraws, t.date_readed AS created_at,
  IF(w.delivery = 'pull', IF(t.id <= c.sent_through, 'delivered', NULL), d.status) AS status, d.attempts, d.outcome,
  d.status_code, d.started_at, d.duration_ms, d.error, d.batch_first, r.due_at`;

export interface DeliveryRow {
  webhook_id: string;
  /** 1: the delivery of an operational event. 0: of a movement. */
  is_event: number | string;
  /** The id of the movement, the event or the withdrawal. */
  transaction_id: string;
  /** The movement whose withdrawal it is. */
  withdraws: string | null;
  created_at: Date;
  /** This and the following columns are null if the delivery was never attempted. */
  status: ListedStatus | null;
  attempts: number | null;
  outcome: string | null;
  status_code: number | null;
  started_at: Date | null;
  duration_ms: number | null;
  error: string | null;
  /** The first delivery of the batch of the last attempt. null: it was sent alone, or never. */
  batch_first: string | null;
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
    id: formatDeliveryId({ webhookId: row.webhook_id, subjectId: row.transaction_id }),
    webhook_id: Number(row.webhook_id),
    transaction_id: isEvent ? null : Number(row.withdraws ?? row.transaction_id),
    event_id: isEvent || row.withdraws !== null ? Number(row.transaction_id) : null,
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

export interface FoundDelivery extends DeliveryRow {
  /** null: an event that belongs to no account. */
  account_id: string | null;
  dc: 'Debit' | 'Credit';
  webhook_account: string | null;
  template_id: string | null;
  webhook_status: 'active' | 'paused' | 'disabled' | 'ended' | 'deleted';
  webhook_delivery: 'push' | 'pull';
  sent_through: string;
}

const FOUND_COLUMNS = `w.id AS webhook_id, ${DELIVERY_COLUMNS}, t.account_id, t.dc, w.account_id AS webhook_account, w.template_id,
  w.status AS webhook_status, w.delivery AS webhook_delivery, c.sent_through`;

const MOVEMENT = `${SUBJECT.sql} ON t.customer_id = w.customer_id`;
/** Not limited to the customer, because the operator is sent the events of all customers. The delivery's rows show whether it exists. */
const OPERATIONAL_EVENT = `${EVENTS_AS_MOVEMENTS} ON t.id = ?`;

/** Indexes: the primary keys, a row of each. */
const FIND_DELIVERY = (content: string) => `
  SELECT ${FOUND_COLUMNS} FROM webhooks w
  JOIN webhook_cursors c ON c.webhook_id = w.id
  JOIN ${content}
  LEFT JOIN deliveries d ON d.webhook_id = w.id AND d.transaction_id = t.id
  LEFT JOIN retries r ON r.webhook_id = w.id AND r.transaction_id = t.id
  WHERE w.id = ? AND w.customer_id = ?`;

/**
 * Finds a delivery of one of the caller's webhooks. Deleted webhooks are included, because their log stays. A key that is limited to
 * accounts sees only deliveries of its accounts' movements from webhooks of its accounts.
 * @throws {Problem} 404.
 */
export async function findDelivery(sql: Sql, caller: Caller, key: DeliveryKey): Promise<FoundDelivery> {
  const { webhookId, subjectId } = key;
  const [content, ids] = (await isSentEvents(sql, webhookId))
    ? [OPERATIONAL_EVENT, [subjectId]]
    : [MOVEMENT, SUBJECT.values(subjectId)];
  const values = [...ids, webhookId, caller.customerId];
  const [found] = await sql.query<FoundDelivery[]>(FIND_DELIVERY(content), values);
  if (found === undefined || !isVisible(found, caller)) throw notFound('delivery');
  const [delivery] = await withoutUnmatched(sql, [found]);
  if (delivery === undefined) throw notFound('delivery');
  return delivery;
}

/** Index: the primary key. */
const READ_EVENT_OF_WEBHOOK = 'SELECT event FROM webhooks WHERE id = ?';

/** Says whether a webhook is sent events; false if there is no such webhook. */
async function isSentEvents(sql: Sql, webhookId: string): Promise<boolean> {
  const [webhook] = await sql.query<{ event: string }[]>(READ_EVENT_OF_WEBHOOK, [webhookId]);
  return isOfEvents(webhook?.event);
}

/** Only operators see the webhooks of their templates. */
const isVisible = ({ account_id, webhook_account, template_id }: FoundDelivery, caller: Caller): boolean =>
  (template_id === null || isOperator(caller.actor)) &&
  (caller.accountIds === 'all' ||
    (webhook_account !== null &&
      maySee(caller, webhook_account) &&
      account_id !== null &&
      maySee(caller, account_id)));

/** Indexes: webhooks_customer, and the primary keys of the others. */
const FIND_OF_MOVEMENT = `
  SELECT ${FOUND_COLUMNS} FROM ${SUBJECTS_OF_MOVEMENT.sql}
  JOIN webhooks w ON w.customer_id = t.customer_id AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS}
  JOIN webhook_cursors c ON c.webhook_id = w.id
  LEFT JOIN deliveries d ON d.webhook_id = w.id AND d.transaction_id = t.id
  LEFT JOIN retries r ON r.webhook_id = w.id AND r.transaction_id = t.id
  WHERE t.customer_id = ? ORDER BY w.id, t.id`;

/** Reads the deliveries of a movement, and of its withdrawal, that the caller may see, by webhook. */
export async function findDeliveriesOf(
  sql: Sql,
  caller: Caller,
  transactionId: string,
): Promise<FoundDelivery[]> {
  const rows = await sql.query<FoundDelivery[]>(FIND_OF_MOVEMENT, [
    ...SUBJECTS_OF_MOVEMENT.values(transactionId),
    caller.customerId,
  ]);
  const visible = rows.filter((row) => isVisible(row, caller));
  const matched: FoundDelivery[] = [];
  for (const isWithdrawal of [false, true])
    matched.push(
      ...(await withoutUnmatched(
        sql,
        visible.filter(({ withdraws }) => (withdraws !== null) === isWithdrawal),
      )),
    );
  return matched;
}

/**
 * Leaves out webhooks that have no row for the subject and for which the subject is not pending, and feeds that did not match it.
 * @param rows of one subject.
 */
async function withoutUnmatched(sql: Sql, rows: readonly FoundDelivery[]): Promise<FoundDelivery[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const { transaction_id: subjectId, withdraws } = first;
  const undecided = rows.filter(
    ({ status, sent_through, webhook_delivery }) =>
      webhook_delivery === 'pull' || (status === null && BigInt(subjectId) > BigInt(sent_through)),
  );
  const webhookIds = undecided.map(({ webhook_id }) => webhook_id);
  const filters = await readFiltersAt(sql, webhookIds, subjectId);
  const ofMovement = withdraws === null ? filters : await readFiltersAt(sql, webhookIds, withdraws);
  return rows.filter((row) => {
    // An event that was not attempted yet has a row in `retries`.
    if (row.webhook_delivery === 'push' && (row.status !== null || row.due_at !== null)) return true;
    const { account_id, dc, webhook_id } = row;
    const filter = undecided.includes(row) ? filters.get(webhook_id) : undefined;
    const before = ofMovement.get(webhook_id);
    if (filter === undefined || before === undefined || account_id === null) return false;
    return withdraws === null
      ? matchesFilter(filter, { account_id, dc })
      : filter.withdrawals && concerns(before, { account_id, dc });
  });
}
