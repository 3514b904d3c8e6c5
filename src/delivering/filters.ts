import type { Sql } from '../database/transaction.ts';

/** Stores what a webhook matches, and from which movement on. */

/** What a webhook matches. */
export interface Filter {
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT';
  /** null: every account of the customer. */
  accountId: string | null;
}

/** While this row is locked, no movement of the customer is stored. */
const LOCK = 'SELECT last_transaction_id FROM import_locks WHERE customer_id = ? FOR UPDATE';

const CHANGE_VERSION = 'UPDATE import_locks SET filters_version = filters_version + 1 WHERE customer_id = ?';

const ADD_FILTER = `
  INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event, account_id) VALUES (?, ?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE event = VALUES(event), account_id = VALUES(account_id)`;

const ADD_BACKLOG = `
  INSERT INTO webhook_backlogs (webhook_id, customer_id, matched_through, previous_through, matched_after)
  VALUES (?, ?, ?, ?, ?)`;

const ADD_CURSOR = `
  INSERT INTO webhook_cursors (webhook_id, customer_id, sent_through, highest_recorded_id) VALUES (?, ?, ?, ?)`;

/**
 * Locks a customer's imports: no movement of the customer is stored until the transaction ends. Take this lock before locks on rows
 * of `webhooks` and `webhook_cursors`. Every transaction follows this order, so they do not deadlock.
 * @returns the id of the customer's newest movement; "0" when there is none.
 */
export async function lockImports(sql: Sql, customerId: string): Promise<string> {
  const [lock] = await sql.query<{ last_transaction_id: string }[]>(LOCK, [customerId]);
  if (lock === undefined) throw new Error(`customer ${customerId} has no row in import_locks`);
  return lock.last_transaction_id;
}

/**
 * Sets what a webhook matches among the movements stored from now on.
 * @param sql a transaction. The caller changes the row in `webhooks` in the same transaction.
 * @param filter null: nothing, for a webhook that is disabled or deleted.
 */
export async function setFilter(
  sql: Sql,
  { id, customerId }: { id: string; customerId: string },
  filter: Filter | null,
): Promise<void> {
  const newest = await lockImports(sql, customerId);
  await sql.query(CHANGE_VERSION, [customerId]);
  await sql.query(ADD_FILTER, [id, newest, customerId, filter?.event ?? null, filter?.accountId ?? null]);
}

/** Adds the rows that a new webhook needs besides the one in `webhooks`. It matches what is stored from now on. @param filter null: nothing. */
export async function createProgress(
  sql: Sql,
  webhook: { id: string; customerId: string },
  filter: Filter | null,
): Promise<void> {
  const newest = await lockImports(sql, webhook.customerId);
  const { id, customerId } = webhook;
  await sql.query(ADD_BACKLOG, [id, customerId, newest, newest, newest]);
  await sql.query(ADD_CURSOR, [id, customerId, newest, newest]);
  await setFilter(sql, webhook, filter);
}
