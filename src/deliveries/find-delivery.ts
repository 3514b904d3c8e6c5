import { type Caller, maySee } from '../customers/caller.ts';
import type { Sql } from '../platform/database/transaction.ts';
import { notFound } from '../platform/problems/problem.ts';
import type { DeliveryKey } from './delivery-id.ts';
import { type AttemptRow, DELIVERY_COLUMNS, type DeliveryRow, EVENTS_AS_MOVEMENTS } from './delivery-view.ts';
import { isEventId } from './events/operational-event.ts';
import { matchesFilter, readFiltersAt } from './filters.ts';

export interface FoundDelivery extends DeliveryRow {
  /** null: the delivery of an operational event. */
  account_id: string | null;
  dc: 'Debit' | 'Credit';
  webhook_account: string | null;
  webhook_status: 'active' | 'paused' | 'disabled' | 'deleted';
  sent_through: string;
}

const FOUND_COLUMNS = `w.id AS webhook_id, ${DELIVERY_COLUMNS}, t.account_id, t.dc, w.account_id AS webhook_account,
  w.status AS webhook_status, c.sent_through`;

const MOVEMENT = 'transactions t ON t.id = ? AND t.customer_id = w.customer_id';
/** The operator is sent the events of all customers. Whether there is a delivery, its rows say. */
const EVENT = `${EVENTS_AS_MOVEMENTS} ON t.id = ?`;

/** Indexes: the primary keys, a row of each. */
const FIND = (content: string) => `
  SELECT ${FOUND_COLUMNS} FROM webhooks w
  JOIN webhook_cursors c ON c.webhook_id = w.id
  JOIN ${content}
  LEFT JOIN deliveries d ON d.webhook_id = w.id AND d.transaction_id = t.id
  LEFT JOIN retries r ON r.webhook_id = w.id AND r.transaction_id = t.id
  WHERE w.id = ? AND w.customer_id = ?`;

/**
 * Finds a delivery of one of the caller's webhooks. Those of deleted webhooks are included, since their log stays. A key that is
 * limited to accounts sees the deliveries of its accounts' movements, from webhooks of its accounts.
 * @throws {Problem} 404.
 */
export async function findDelivery(sql: Sql, caller: Caller, key: DeliveryKey): Promise<FoundDelivery> {
  const { webhookId, transactionId } = key;
  const content = isEventId(transactionId) ? EVENT : MOVEMENT;
  const values = [transactionId, webhookId, caller.customerId];
  const [found] = await sql.query<FoundDelivery[]>(FIND(content), values);
  if (found === undefined || !isVisible(found, caller)) throw notFound('delivery');
  const [delivery] = await withoutUnmatched(sql, transactionId, [found]);
  if (delivery === undefined) throw notFound('delivery');
  return delivery;
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
  JOIN webhooks w ON w.customer_id = t.customer_id
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

/** Leaves out webhooks that have no row for the movement, and for which it is not pending either. */
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

const ATTEMPT_COLUMNS = (it: string) =>
  `${it}.outcome, ${it}.status_code, ${it}.started_at, ${it}.duration_ms, ${it}.error, ${it}.response`;

/** Indexes: the primary keys. */
const ATTEMPTS = `
  SELECT a.number, ${ATTEMPT_COLUMNS('a')} FROM attempts a WHERE a.webhook_id = ? AND a.transaction_id = ?
  ORDER BY a.number`;

const LAST_ATTEMPT = `
  SELECT d.attempts AS number, ${ATTEMPT_COLUMNS('d')} FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id = ?`;

/** Reads the attempts of a delivery in their order. The last one is in `deliveries`, and also in `attempts` once it has failed. */
export async function readAttempts(
  sql: Sql,
  { webhookId, transactionId }: DeliveryKey,
): Promise<AttemptRow[]> {
  const [last] = await sql.query<AttemptRow[]>(LAST_ATTEMPT, [webhookId, transactionId]);
  const attempts = await sql.query<AttemptRow[]>(ATTEMPTS, [webhookId, transactionId]);
  if (last === undefined || attempts.some(({ number }) => number === last.number)) return attempts;
  return [...attempts, last].sort((a, b) => a.number - b.number);
}
