import type { DataSource } from 'typeorm';
import { findAccount } from '../customers/accounts.ts';
import { byOperator, recordChange } from '../customers/audit.ts';
import type { Caller, Operator } from '../customers/caller.ts';
import { findOperatorCustomer } from '../customers/operator-customer.ts';
import type { Account } from '../database/entities.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { lockImports } from '../delivery/filters.ts';
import { stopWebhooks } from '../delivery/stop-sending.ts';
import { wakeWebhooks } from '../delivery/wake.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { stopSources } from '../sources/sources.ts';

/**
 * Accepts the deletion of an account or a customer. After the commit, no import stores its movements, and none is sent. The maintenance
 * role deletes the rows.
 */

/** account_id of the deletion of a customer. */
export const WHOLE_CUSTOMER = '0';

/**
 * Requests that an account is deleted with everything that belongs to it.
 * @param record runs in the same transaction, unless the deletion was requested before.
 * @returns the webhooks to wake, with `reread`; null: the customer has no such account.
 */
export function requestAccountDeletion(
  database: DataSource,
  { customerId, accountId }: { customerId: string; accountId: string },
  record: (sql: Sql) => Promise<void>,
): Promise<string[] | null> {
  return inTransaction(database, async (sql) => {
    const newest = await lockImports(sql, customerId);
    const [account] = await sql.query<{ status: string }[]>(FIND_ACCOUNT, [accountId, customerId]);
    if (account === undefined) return null;
    if (account.status === 'deleting') return [];
    await sql.query(MARK_ACCOUNT, [accountId]);
    await sql.query(ADD_DELETION, [customerId, accountId]);
    await record(sql);
    await stopSources(sql, { customerId, accountId });
    return stopWebhooks(sql, { customerId, accountId, newest });
  });
}

/**
 * Requests that a customer is deleted with everything that belongs to it. Its API keys are deleted immediately.
 * @param record runs in the same transaction.
 * @returns the webhooks to wake, with `reread`.
 * @throws when there is no such customer.
 */
export function requestCustomerDeletion(
  database: DataSource,
  customerId: string,
  record: (sql: Sql) => Promise<void>,
): Promise<string[]> {
  return inTransaction(database, async (sql) => {
    const newest = await lockImports(sql, customerId);
    await sql.query(DELETE_KEYS, [customerId]);
    await sql.query(FREE_EXTERNAL_ID, [customerId]);
    await sql.query(MARK_ACCOUNTS, [customerId]);
    await sql.query(ADD_DELETION, [customerId, WHOLE_CUSTOMER]);
    await record(sql);
    await stopSources(sql, { customerId, accountId: null });
    return stopWebhooks(sql, { customerId, accountId: null, newest });
  });
}

const FIND_ACCOUNT = 'SELECT status FROM accounts WHERE id = ? AND customer_id = ? FOR UPDATE';

const MARK_ACCOUNT = "UPDATE accounts SET status = 'deleting' WHERE id = ?";

const MARK_ACCOUNTS = "UPDATE accounts SET status = 'deleting' WHERE customer_id = ?";

/** A repeated request changes nothing. */
const ADD_DELETION = `
  INSERT INTO deletions (customer_id, account_id) VALUES (?, ?) ON DUPLICATE KEY UPDATE account_id = VALUES(account_id)`;

/** A new customer may have it from now on. */
const FREE_EXTERNAL_ID = 'UPDATE customers SET external_id = NULL WHERE id = ?';

/** After this, requests with these keys are answered 401. The rows of the keys' accounts are deleted with the keys. */
const DELETE_KEYS = 'DELETE FROM api_keys WHERE customer_id = ?';

/**
 * Accepts the deletion of a customer, records it, and wakes the customer's webhooks, so that their runs end.
 * @throws when there is no such customer.
 */
export async function acceptCustomerDeletion(
  runtime: Runtime,
  operator: Operator,
  customerId: string,
): Promise<void> {
  const { database, log } = runtime;
  if ((await findOperatorCustomer(database)) === customerId)
    throw new Problem(
      'operator-customer',
      'This is the customer of the operator, to whom OPS_WEBHOOK_URL and the webhook templates belong. Delete these instead.',
    );
  const change = { action: 'delete', subject: `customer ${customerId}` };
  const running = await requestCustomerDeletion(database, customerId, (sql) =>
    recordChange(sql, byOperator(operator, customerId), change),
  );
  await wakeWebhooks(runtime, running, { reread: true }).catch((err: unknown) =>
    log.warn({ err, customerId }, 'delivery runs not told of the deletion yet'),
  );
}

/**
 * Accepts the deletion of an account, records it, and wakes the account's webhooks, so that their runs end.
 * @returns the account, which is being deleted.
 * @throws {Problem} 404.
 */
export async function acceptAccountDeletion(
  runtime: Runtime,
  caller: Caller,
  accountId: string,
): Promise<Account> {
  const { database, log } = runtime;
  const { customerId } = caller;
  const account = await findAccount(database, caller, accountId);
  const running = await requestAccountDeletion(database, { customerId, accountId }, (sql) =>
    recordChange(sql, caller, { action: 'delete', subject: `account ${accountId}` }),
  );
  if (running === null) throw notFound('account');
  await wakeWebhooks(runtime, running, { reread: true }).catch((err: unknown) =>
    log.warn({ err, accountId }, 'delivery runs not told of the deletion yet'),
  );
  account.status = 'deleting';
  return account;
}
