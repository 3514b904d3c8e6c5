import { type Caller, maySee } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS, isOfEvents } from '../database/webhook-enums.ts';
import { notFound } from '../platform/problem.ts';
import type { DeliveryKey } from './delivery-id.ts';
import { DELIVERY_COLUMNS, type DeliveryRow, EVENTS_AS_MOVEMENTS } from './delivery-view.ts';
import { matchesFilter, readFiltersAt } from './filters.ts';

export interface FoundDelivery extends DeliveryRow {
  /** null: an event that belongs to no account. */
  account_id: string | null;
  dc: 'Debit' | 'Credit';
  webhook_account: string | null;
  webhook_status: 'active' | 'paused' | 'disabled' | 'deleted';
  sent_through: string;
}

const FOUND_COLUMNS = `w.id AS webhook_id, ${DELIVERY_COLUMNS}, t.account_id, t.dc, w.account_id AS webhook_account,
  w.status AS webhook_status, c.sent_through`;

const MOVEMENT = 'transactions t ON t.id = ? AND t.customer_id = w.customer_id';
/** Not limited to the customer, because the operator is sent the events of all customers. The delivery's rows show whether it exists. */
const OPERATIONAL_EVENT = `${EVENTS_AS_MOVEMENTS} ON t.id = ?`;

/** Indexes: the primary keys, a row of each. */
const FIND = (content: string) => `
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
  const { webhookId, transactionId } = key;
  const content = (await isSentEvents(sql, webhookId)) ? OPERATIONAL_EVENT : MOVEMENT;
  const values = [transactionId, webhookId, caller.customerId];
  const [found] = await sql.query<FoundDelivery[]>(FIND(content), values);
  if (found === undefined || !isVisible(found, caller)) throw notFound('delivery');
  const [delivery] = await withoutUnmatched(sql, transactionId, [found]);
  if (delivery === undefined) throw notFound('delivery');
  return delivery;
}

/** Index: the primary key. */
const EVENT_OF = 'SELECT event FROM webhooks WHERE id = ?';

/** Says whether a webhook is sent events; false if there is no such webhook. */
async function isSentEvents(sql: Sql, webhookId: string): Promise<boolean> {
  const [webhook] = await sql.query<{ event: string }[]>(EVENT_OF, [webhookId]);
  return isOfEvents(webhook?.event);
}

const isVisible = ({ account_id, webhook_account }: FoundDelivery, caller: Caller): boolean =>
  caller.accountIds === 'all' ||
  (webhook_account !== null &&
    maySee(caller, webhook_account) &&
    account_id !== null &&
    maySee(caller, account_id));

/** Indexes: webhooks_customer, and the primary keys of the others. */
const FIND_OF_MOVEMENT = `
  SELECT ${FOUND_COLUMNS} FROM transactions t
  JOIN webhooks w ON w.customer_id = t.customer_id AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS}
  JOIN webhook_cursors c ON c.webhook_id = w.id
  LEFT JOIN deliveries d ON d.webhook_id = w.id AND d.transaction_id = t.id
  LEFT JOIN retries r ON r.webhook_id = w.id AND r.transaction_id = t.id
  WHERE t.id = ? AND t.customer_id = ? ORDER BY w.id`;

/** Reads the deliveries of a movement that the caller may see, by webhook. */
export async function findDeliveriesOf(
  sql: Sql,
  caller: Caller,
  transactionId: string,
): Promise<FoundDelivery[]> {
  const rows = await sql.query<FoundDelivery[]>(FIND_OF_MOVEMENT, [transactionId, caller.customerId]);
  return withoutUnmatched(
    sql,
    transactionId,
    rows.filter((row) => isVisible(row, caller)),
  );
}

/** Leaves out webhooks that have no row for the movement and for which the movement is not pending. */
async function withoutUnmatched(
  sql: Sql,
  transactionId: string,
  rows: readonly FoundDelivery[],
): Promise<FoundDelivery[]> {
  const undecided = rows.filter(
    ({ status, sent_through }) => status === null && BigInt(transactionId) > BigInt(sent_through),
  );
  const filters = await readFiltersAt(
    sql,
    undecided.map(({ webhook_id }) => webhook_id),
    transactionId,
  );
  return rows.filter((row) => {
    // An event that was not attempted yet has a row in `retries`.
    if (row.status !== null || row.due_at !== null) return true;
    const { account_id, dc } = row;
    const filter = undecided.includes(row) ? filters.get(row.webhook_id) : undefined;
    return filter !== undefined && account_id !== null && matchesFilter(filter, { account_id, dc });
  });
}
