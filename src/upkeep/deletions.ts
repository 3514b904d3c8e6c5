import type { DataSource } from 'typeorm';
import { deleteByIds } from '../database/delete-by-ids.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { lockImports } from '../delivery/filters.ts';
import { endPending, stopWebhooks } from '../delivery/stop-sending.ts';
import { wakeWebhooks } from '../delivery/wake.ts';
import { countMovements } from '../movements/segments.ts';
import { stopSources } from '../sources/sources.ts';
import {
  deleteAccountMovements,
  deleteWithdrawnMovements,
  type MatchingWebhooks,
} from './deletion/delete-account-movements.ts';
import { WHOLE_CUSTOMER } from './request-deletion.ts';
import { deleteDeliveries } from './retention/remove-deliveries.ts';
import { findRecipients } from './retention/remove-events.ts';
import { removeDetails } from './retention/remove-imports.ts';
import { removeCollected } from './retention/remove-sources.ts';
import { deleteStatements } from './retention/remove-statements.ts';
import { deleteWebhookRows } from './retention/remove-webhooks.ts';
import { deleteWithdrawnStatements } from './retention/remove-withdrawn.ts';
import { deleteRows, type Steps } from './retention/steps.ts';

/** Runs the deletions of accounts and customers. request-deletion.ts accepts them. */

/** The deletion of an account or a customer. */
export interface Deletion {
  customerId: string;
  /** null: the customer, with all accounts. */
  accountId: string | null;
  requestedAt: Date;
  /** How many movements there were when the work began. null: the work has not begun. */
  movements: number | null;
  movementsDeleted: number;
}

type DeletionRow = Pick<Deletion, 'customerId' | 'requestedAt'> &
  Record<'accountId' | 'movementsDeleted', string> & { movements: string | null };

/** Reads deletions in the order in which they were requested. There are few of them. */
const READ_DELETIONS = `
  SELECT customer_id AS customerId, account_id AS accountId, requested_at AS requestedAt, movements,
    movements_deleted AS movementsDeleted
  FROM deletions
  ORDER BY requested_at, customer_id, account_id`;

const SET_MOVEMENT_COUNT =
  'UPDATE deletions SET movements = ? WHERE customer_id = ? AND account_id = ? AND movements IS NULL';

/** Reads the deletions of all customers, the oldest request first. */
export async function readDeletions(sql: Sql): Promise<Deletion[]> {
  return (await sql.query<DeletionRow[]>(READ_DELETIONS)).map((row) => ({
    ...row,
    accountId: row.accountId === WHOLE_CUSTOMER ? null : row.accountId,
    movements: row.movements === null ? null : Number(row.movements),
    movementsDeleted: Number(row.movementsDeleted),
  }));
}

/**
 * Continues all deletions. May be stopped at any time, and may run in several processes at once.
 * @returns how many deletions were completed. The next call tries the others again.
 * @throws what MySQL throws.
 */
export async function runDeletions(
  runtime: Pick<Runtime, 'database' | 'queues' | 'redis' | 'prefix' | 'log'>,
  steps: Steps,
): Promise<number> {
  const { database, log } = runtime;
  const deletions = await readDeletions(database);
  const customers = new Set(deletions.flatMap((it) => (it.accountId === null ? [it.customerId] : [])));
  let completed = 0;
  for (const { customerId, accountId, movements } of deletions) {
    // The account is deleted with its customer.
    if (accountId !== null && customers.has(customerId)) continue;
    if (movements === null) {
      const count = await countMovements(database, { customerId, accountId });
      await database.query(SET_MOVEMENT_COUNT, [count, customerId, accountId ?? WHOLE_CUSTOMER]);
    }
    if (accountId === null) completed += (await deleteCustomer(database, steps, customerId)) ? 1 : 0;
    else {
      completed += (await deleteAccount(database, steps, { customerId, accountId })) ? 1 : 0;
      await wakeMatching(runtime, customerId, accountId);
    }
  }
  if (completed > 0) log.info({ completed }, 'deletions completed');
  return completed;
}

/** Wakes webhooks whose lease the deletion had, because their runs would otherwise wait for the end of that lease. */
async function wakeMatching(
  runtime: Pick<Runtime, 'database' | 'queues' | 'redis' | 'prefix' | 'log'>,
  customerId: string,
  accountId: string,
): Promise<void> {
  const { live } = await findMatchingWebhooks(runtime.database, customerId, accountId);
  await wakeWebhooks(runtime, live).catch((err: unknown) => runtime.log.warn({ err }, 'webhooks not woken'));
}

/** Indexes: webhooks_customer, and the primary key of webhook_filters. */
const FIND_MATCHING_WEBHOOKS = `
  SELECT w.id, w.status = 'deleted' AS is_deleted FROM webhooks w
  WHERE w.customer_id = ? AND EXISTS (
    SELECT 1 FROM webhook_filters f
    WHERE f.webhook_id = w.id AND f.event IS NOT NULL AND (f.account_id IS NULL OR f.account_id = ?))`;

/** Failed imports keep their bodies for a retry, but now a retry would reject every row. Index: imports_status. */
const FIND_FAILED_IMPORTS =
  "SELECT id FROM imports FORCE INDEX (imports_status) WHERE status = 'failed' AND customer_id = ? AND account_id = ?";

const ACCOUNT_MOVEMENTS = `
  SELECT 1 FROM transactions FORCE INDEX (transactions_account_page) WHERE account_id = ? LIMIT 1`;

/** A webhook that was deleted with the account may have matched other accounts before, so its row and its log stay. Sources stay too. */
const DELETE_ACCOUNT = [
  'UPDATE webhooks SET account_id = NULL WHERE account_id = ?',
  'UPDATE sources SET account_id = NULL WHERE account_id = ?',
  'DELETE FROM source_accounts WHERE account_id = ?',
  'DELETE FROM api_key_accounts WHERE account_id = ?',
  'DELETE FROM accounts WHERE id = ?',
];
const DELETE_SEGMENTS = 'DELETE FROM transaction_segments WHERE customer_id = ? AND account_id = ?';
const END_DELETION = 'DELETE FROM deletions WHERE customer_id = ? AND account_id = ?';
/** From now on, nothing hides the account's movements that processes have cached, so they read again. */
const FORGET_CACHED = 'UPDATE import_locks SET accounts_deleted = accounts_deleted + 1 WHERE customer_id = ?';

/** Finds the webhooks that match an account now or did before, and so may have deliveries of it. */
async function findMatchingWebhooks(
  database: DataSource,
  customerId: string,
  accountId: string,
): Promise<MatchingWebhooks> {
  const rows = await database.query<{ id: string; is_deleted: number | string }[]>(FIND_MATCHING_WEBHOOKS, [
    customerId,
    accountId,
  ]);
  const ids = (isDeleted: number) =>
    rows.filter((row) => Number(row.is_deleted) === isDeleted).map(({ id }) => id);
  return { live: ids(0), deleted: ids(1) };
}

/**
 * Continues to delete an account. After a crash, the work continues where it was, because each step is complete in itself.
 * @returns false if something is left, because the work was stopped or a delivery run kept its webhook's lease.
 */
async function deleteAccount(
  database: DataSource,
  steps: Steps,
  { customerId, accountId }: { customerId: string; accountId: string },
): Promise<boolean> {
  const webhooks = await findMatchingWebhooks(database, customerId, accountId);
  for (const webhookId of webhooks.live) {
    if (!(await endPending(database, steps, { webhookId, accountId }))) return false;
  }
  const options = { customerId, accountId, countedIn: accountId, webhooks };
  if (!(await deleteAccountMovements(database, steps, options))) return false;
  if (!(await deleteWithdrawnMovements(database, steps, options))) return false;
  if (!(await deleteStatements(database, steps, accountId))) return false;
  if (!(await deleteWithdrawnStatements(database, steps, accountId))) return false;
  if (!(await deleteEvents(database, steps, { customerId, accountId }))) return false;
  const failed = await database.query<{ id: string }[]>(FIND_FAILED_IMPORTS, [customerId, accountId]);
  for (const { id } of failed) if (!(await removeDetails(database, steps, id, 'any'))) return false;
  return deleteRow(database, customerId, accountId);
}

/** Index: operational_events_account. */
const FIND_EVENTS = 'SELECT id FROM operational_events WHERE account_id = ? ORDER BY account_id, id LIMIT ?';
/** Index: the primary key. */
const FIND_PENDING_EVENTS =
  'SELECT transaction_id AS id FROM retries WHERE webhook_id IN (?) AND transaction_id IN (?) AND due_at IS NOT NULL';
const DELETE_EVENTS = 'DELETE FROM operational_events WHERE id IN (?)';

/**
 * Deletes the events about an account, with their deliveries. A pending delivery fails, because its event is gone.
 * @returns false if the work was stopped early.
 */
async function deleteEvents(
  database: DataSource,
  steps: Steps,
  { customerId, accountId }: { customerId: string; accountId: string },
): Promise<boolean> {
  const webhooks = await findRecipients(database, [customerId]);
  return steps.repeat(async (rows) => {
    const ids = (await database.query<{ id: string }[]>(FIND_EVENTS, [accountId, rows])).map(({ id }) => id);
    if (ids.length === 0) return false;
    await inTransaction(database, async (sql) => {
      const pending = new Set(
        webhooks.length === 0
          ? []
          : (await sql.query<{ id: string }[]>(FIND_PENDING_EVENTS, [webhooks, ids])).map(({ id }) => id),
      );
      const ended = ids.filter((id) => !pending.has(id));
      for (const webhookId of webhooks) await deleteDeliveries(sql, webhookId, ended);
      await deleteByIds(sql, DELETE_EVENTS, [], ids);
    });
    return ids.length === rows;
  });
}

/** Deletes the account's own row. @returns false if a movement was stored in the meantime. */
function deleteRow(database: DataSource, customerId: string, accountId: string): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    const newest = await lockImports(sql, customerId);
    const left = await sql.query<unknown[]>(ACCOUNT_MOVEMENTS, [accountId]);
    if (left.length > 0) return false;
    // Another source or webhook may have been created for the account just when its deletion was requested.
    await stopSources(sql, { customerId, accountId });
    await stopWebhooks(sql, { customerId, accountId, newest });
    for (const statement of DELETE_ACCOUNT) await sql.query(statement, [accountId]);
    await sql.query(DELETE_SEGMENTS, [customerId, accountId]);
    await sql.query(END_DELETION, [customerId, accountId]);
    await sql.query(FORGET_CACHED, [customerId]);
    return true;
  });
}

/** Indexes: imports_page; the foreign keys of the others. */
const FIND_IMPORTS = 'SELECT id FROM imports WHERE customer_id = ? ORDER BY id LIMIT ?';
const DELETE_IMPORTS = 'DELETE i FROM imports i FORCE INDEX (PRIMARY) WHERE i.id IN (?)';
const FIND_ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';
const FIND_WEBHOOKS = 'SELECT id FROM webhooks WHERE customer_id = ?';

/** Index: the primary keys. */
const DELETE_LOG = ['deliveries', 'attempts', 'retries', 'rejected_batches'].map(
  (table) => `DELETE FROM ${table} WHERE webhook_id = ? LIMIT ?`,
);
const FIND_SOURCES = 'SELECT id FROM sources WHERE customer_id = ?';
const DELETE_REQUESTS = 'DELETE FROM idempotency_keys WHERE customer_id = ? LIMIT ?';
/** If the operator has still to be sent such an event, that delivery fails. Index: operational_events_recent. */
const DELETE_CUSTOMER_EVENTS = 'DELETE FROM operational_events WHERE customer_id = ? LIMIT ?';

const CUSTOMER_MOVEMENTS =
  'SELECT 1 FROM transactions FORCE INDEX (transactions_customer_page) WHERE customer_id = ? LIMIT 1';

/** A table comes before the table that its foreign key refers to. */
const DELETE_CUSTOMER = [
  'DELETE FROM api_keys WHERE customer_id = ?',
  'DELETE FROM sources WHERE customer_id = ?',
  'DELETE FROM accounts WHERE customer_id = ?',
  'DELETE FROM banks WHERE customer_id = ?',
  'DELETE FROM withdrawals WHERE customer_id = ?',
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
async function deleteCustomer(database: DataSource, steps: Steps, customerId: string): Promise<boolean> {
  if (!(await deleteImports(database, steps, customerId))) return false;
  for (const { id: accountId } of await database.query<{ id: string }[]>(FIND_ACCOUNTS, [customerId])) {
    const webhooks = await findMatchingWebhooks(database, customerId, accountId);
    const options = { customerId, accountId, countedIn: WHOLE_CUSTOMER, webhooks };
    if (!(await deleteAccountMovements(database, steps, options))) return false;
    if (!(await deleteWithdrawnMovements(database, steps, options))) return false;
    if (!(await deleteStatements(database, steps, accountId))) return false;
    if (!(await deleteWithdrawnStatements(database, steps, accountId))) return false;
  }
  for (const { id } of await database.query<{ id: string }[]>(FIND_WEBHOOKS, [customerId])) {
    for (const statement of DELETE_LOG)
      if (!(await deleteRows(database, steps, statement, [id])).isWhole) return false;
    await inTransaction(database, (sql) => deleteWebhookRows(sql, id));
  }
  for (const { id } of await database.query<{ id: string }[]>(FIND_SOURCES, [customerId])) {
    if (!(await removeCollected(database, steps, id))) return false;
  }
  for (const statement of [DELETE_REQUESTS, DELETE_CUSTOMER_EVENTS])
    if (!(await deleteRows(database, steps, statement, [customerId])).isWhole) return false;
  return deleteRest(database, customerId);
}

/** An import that is being stored or received ends when its row is gone. */
function deleteImports(database: DataSource, steps: Steps, customerId: string): Promise<boolean> {
  return steps.repeat(async (rows) => {
    const imports = await database.query<{ id: string }[]>(FIND_IMPORTS, [customerId, rows]);
    const ids = imports.map(({ id }) => id);
    for (const id of ids) if (!(await removeDetails(database, steps, id, 'any'))) return false;
    if (ids.length > 0) await inTransaction(database, (sql) => sql.query(DELETE_IMPORTS, [ids]));
    return ids.length === rows;
  });
}

function deleteRest(database: DataSource, customerId: string): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    await lockImports(sql, customerId);
    const left = await sql.query<unknown[]>(CUSTOMER_MOVEMENTS, [customerId]);
    if (left.length > 0) return false;
    for (const statement of DELETE_CUSTOMER) await sql.query(statement, [customerId]);
    return true;
  });
}
