import type { DataSource } from 'typeorm';
import { findOperatorCustomer } from '../../customers/operator-customer.ts';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { BALANCE_UPDATED } from '../../delivery/operational-event.ts';

/** Makes the deliveries of operational events. They begin as retries that are due now, because the movement log holds no events. */

const EVENTS_PER_TRANSACTION = 100;

/** Uses SKIP LOCKED, because another process may dispatch events, or a transaction that records an event may be open. */
const READ_UNDISPATCHED_EVENTS = `
  SELECT id, customer_id, webhook_id, account_id, type, created_at
  FROM operational_events FORCE INDEX (operational_events_undispatched)
  WHERE dispatched_at IS NULL ORDER BY id LIMIT ${EVENTS_PER_TRANSACTION} FOR UPDATE SKIP LOCKED`;

/** A paused webhook gets its events when it is active again. Index: webhooks_customer. */
const FIND_RECIPIENTS = `
  SELECT id, customer_id, event, account_id, created_at FROM webhooks
  WHERE customer_id IN (?) AND is_template = 0 AND status IN ('active', 'paused') AND event IN ${EVENTS_WITHOUT_MOVEMENTS} ORDER BY id`;

const ADD_DELIVERIES = `
  INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
  SELECT w.id, e.id, w.customer_id, NOW(6), 0, 0
  FROM operational_events e JOIN webhooks w WHERE e.id IN (?) AND w.id IN (?) AND (w.id, e.id) IN (?)`;

const COUNT_PENDING =
  'UPDATE webhook_backlogs SET matched_count = matched_count + ?, due_at = NOW(6) WHERE webhook_id = ?';

const MARK_DISPATCHED = 'UPDATE operational_events SET dispatched_at = NOW(6) WHERE id IN (?)';

interface Undispatched {
  id: string;
  customer_id: string | null;
  webhook_id: string | null;
  account_id: string | null;
  type: string;
  created_at: Date;
}

interface Recipient {
  id: string;
  customer_id: string;
  event: string;
  /** null: all. */
  account_id: string | null;
  created_at: Date;
}

/**
 * Makes the deliveries of all events that have none yet, for the OPERATIONAL webhooks of the customer and of the operator.
 * A balance goes only to the customer's BALANCE_UPDATED webhooks.
 * An event about a webhook is not sent to that webhook, because each failure would then cause another delivery that fails.
 * @returns the webhooks to wake.
 */
export async function dispatchEvents(database: DataSource): Promise<string[]> {
  const operatorId = await findOperatorCustomer(database);
  const woken = new Set<string>();
  for (;;) {
    const { events, webhookIds } = await inTransaction(database, (sql) => dispatchSome(sql, operatorId));
    for (const id of webhookIds) woken.add(id);
    if (events < EVENTS_PER_TRANSACTION) return [...woken];
  }
}

async function dispatchSome(
  sql: Sql,
  operatorId: string | null,
): Promise<{ events: number; webhookIds: string[] }> {
  const events = await sql.query<Undispatched[]>(READ_UNDISPATCHED_EVENTS);
  if (events.length === 0) return { events: 0, webhookIds: [] };
  const customers = [operatorId, ...events.map(({ customer_id }) => customer_id)].filter((id) => id != null);
  const webhooks =
    customers.length === 0 ? [] : await sql.query<Recipient[]>(FIND_RECIPIENTS, [[...new Set(customers)]]);
  const deliveries = webhooks.map((webhook) => ({
    webhook,
    events: events.filter((event) => isFor(event, webhook, operatorId)),
  }));
  const pairs = deliveries.flatMap((it) => it.events.map(({ id }) => [it.webhook.id, id]));
  const eventIds = events.map(({ id }) => id);
  const webhookIds = deliveries.filter((it) => it.events.length > 0).map((it) => it.webhook.id);
  if (pairs.length > 0) await sql.query(ADD_DELIVERIES, [eventIds, webhookIds, pairs]);
  for (const { webhook, events: own } of deliveries)
    if (own.length > 0) await sql.query(COUNT_PENDING, [own.length, webhook.id]);
  await sql.query(MARK_DISPATCHED, [eventIds]);
  return { events: events.length, webhookIds };
}

/** An event is not sent to a webhook that was created after it. */
function isFor(event: Undispatched, webhook: Recipient, operatorId: string | null): boolean {
  if (webhook.created_at > event.created_at) return false;
  const isOwn = webhook.customer_id === event.customer_id;
  if (event.type === BALANCE_UPDATED || webhook.event === 'BALANCE_UPDATED')
    return (
      isOwn &&
      event.type === BALANCE_UPDATED &&
      webhook.event === 'BALANCE_UPDATED' &&
      (webhook.account_id === null || webhook.account_id === event.account_id)
    );
  return (isOwn || webhook.customer_id === operatorId) && webhook.id !== event.webhook_id;
}
