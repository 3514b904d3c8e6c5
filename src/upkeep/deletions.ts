import type { Runtime } from '../database/runtime.ts';
import type { Sql } from '../database/transaction.ts';
import { wakeWebhooks } from '../delivery/wake.ts';
import { countMovements } from '../movements/segments.ts';
import { deleteAccount, findMatchingWebhooks } from './deletion/delete-account.ts';
import { deleteCustomer } from './deletion/delete-customer.ts';
import { WHOLE_CUSTOMER } from './request-deletion.ts';
import type { Steps } from './retention/steps.ts';

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

interface DeletionRow {
  customer_id: string;
  account_id: string;
  requested_at: Date;
  movements: string | null;
  movements_deleted: string;
}

/** Reads deletions in the order in which they were requested. There are few of them. */
const DELETIONS = `
  SELECT customer_id, account_id, requested_at, movements, movements_deleted FROM deletions
  ORDER BY requested_at, customer_id, account_id`;

const SET_COUNT =
  'UPDATE deletions SET movements = ? WHERE customer_id = ? AND account_id = ? AND movements IS NULL';

/** Reads the deletions of all customers, the oldest request first. */
export async function readDeletions(sql: Sql): Promise<Deletion[]> {
  return (await sql.query<DeletionRow[]>(DELETIONS)).map((row) => ({
    customerId: row.customer_id,
    accountId: row.account_id === WHOLE_CUSTOMER ? null : row.account_id,
    requestedAt: row.requested_at,
    movements: row.movements === null ? null : Number(row.movements),
    movementsDeleted: Number(row.movements_deleted),
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
      await database.query(SET_COUNT, [count, customerId, accountId ?? WHOLE_CUSTOMER]);
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
