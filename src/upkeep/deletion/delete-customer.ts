import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../../database/transaction.ts';
import { lockImports } from '../../delivery/filters.ts';
import { WHOLE_CUSTOMER } from '../request-deletion.ts';
import { removeDetails } from '../retention/remove-imports.ts';
import { removeCollected } from '../retention/remove-sources.ts';
import { deleteStatements } from '../retention/remove-statements.ts';
import { deleteWebhookRows } from '../retention/remove-webhooks.ts';
import type { Steps } from '../retention/steps.ts';
import { deleteAccountMovements, findMatchingWebhooks } from './delete-account.ts';

/** Indexes: imports_page; the foreign keys of the others. */
const IMPORTS = 'SELECT id FROM imports WHERE customer_id = ? ORDER BY id LIMIT ?';
const DELETE_IMPORTS = 'DELETE i FROM imports i FORCE INDEX (PRIMARY) WHERE i.id IN (?)';
const ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';
const WEBHOOKS = 'SELECT id FROM webhooks WHERE customer_id = ?';

/** Index: the primary keys. */
const DELETE_LOG = ['deliveries', 'attempts', 'retries'].map(
  (table) => `DELETE FROM ${table} WHERE webhook_id = ? LIMIT ?`,
);
const SOURCES = 'SELECT id FROM sources WHERE customer_id = ?';
const DELETE_REQUESTS = 'DELETE FROM idempotency_keys WHERE customer_id = ? LIMIT ?';
/** If the operator has still to be sent such an event, that delivery fails. Index: operational_events_recent. */
const DELETE_EVENTS = 'DELETE FROM operational_events WHERE customer_id = ? LIMIT ?';

const LEFT =
  'SELECT 1 FROM transactions FORCE INDEX (transactions_customer_page) WHERE customer_id = ? LIMIT 1';

/** A table comes before the table that its foreign key refers to. */
const DELETE = [
  'DELETE FROM api_keys WHERE customer_id = ?',
  'DELETE FROM sources WHERE customer_id = ?',
  'DELETE FROM accounts WHERE customer_id = ?',
  'DELETE FROM banks WHERE customer_id = ?',
  'DELETE FROM transaction_segments WHERE customer_id = ?',
  'DELETE FROM segment_checkpoints WHERE customer_id = ?',
  'DELETE FROM deletions WHERE customer_id = ?',
  'DELETE FROM import_locks WHERE customer_id = ?',
  'DELETE FROM customers WHERE id = ?',
];

/**
 * Continues to delete a customer. After a crash, the work continues where it was. The customer's webhooks are deleted already, so nothing
 * is pending.
 * @returns false if something is left, because the work was stopped or a last request has stored something.
 */
export async function deleteCustomer(
  database: DataSource,
  steps: Steps,
  customerId: string,
): Promise<boolean> {
  if (!(await deleteImports(database, steps, customerId))) return false;
  for (const { id: accountId } of await database.query<{ id: string }[]>(ACCOUNTS, [customerId])) {
    const webhooks = await findMatchingWebhooks(database, customerId, accountId);
    const options = { customerId, accountId, countedIn: WHOLE_CUSTOMER, webhooks };
    if (!(await deleteAccountMovements(database, steps, options))) return false;
    if (!(await deleteStatements(database, steps, accountId))) return false;
  }
  for (const { id } of await database.query<{ id: string }[]>(WEBHOOKS, [customerId])) {
    for (const statement of DELETE_LOG) if (!(await deleteRows(database, steps, statement, id))) return false;
    await inTransaction(database, (sql) => deleteWebhookRows(sql, id));
  }
  for (const { id } of await database.query<{ id: string }[]>(SOURCES, [customerId])) {
    if (!(await removeCollected(database, steps, id))) return false;
  }
  if (!(await deleteRows(database, steps, DELETE_REQUESTS, customerId))) return false;
  if (!(await deleteRows(database, steps, DELETE_EVENTS, customerId))) return false;
  return deleteRest(database, customerId);
}

/** An import that is being stored or received ends when its row is gone. */
function deleteImports(database: DataSource, steps: Steps, customerId: string): Promise<boolean> {
  return steps.repeat(async (rows) => {
    const imports = await database.query<{ id: string }[]>(IMPORTS, [customerId, rows]);
    const ids = imports.map(({ id }) => id);
    for (const id of ids) if (!(await removeDetails(database, steps, id, 'any'))) return false;
    if (ids.length > 0) await inTransaction(database, (sql) => sql.query(DELETE_IMPORTS, [ids]));
    return ids.length === rows;
  });
}

const deleteRows = (database: DataSource, steps: Steps, statement: string, id: string): Promise<boolean> =>
  steps.repeat(async (rows) => {
    const { affectedRows } = await inTransaction(database, (sql) =>
      sql.query<WriteResult>(statement, [id, rows]),
    );
    return affectedRows === rows;
  });

function deleteRest(database: DataSource, customerId: string): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    await lockImports(sql, customerId);
    const left = await sql.query<unknown[]>(LEFT, [customerId]);
    if (left.length > 0) return false;
    for (const statement of DELETE) await sql.query(statement, [customerId]);
    return true;
  });
}
