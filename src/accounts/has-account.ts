import type { Sql } from '../database/transaction.ts';
import { type Caller, maySee } from '../http/environment.ts';

const ACCOUNT = "SELECT 1 FROM accounts WHERE id = ? AND customer_id = ? AND status <> 'deleting'";

/** Whether an account exists that the caller can see, and that is not being deleted. Index: the primary key. */
export async function hasAccount(sql: Sql, caller: Caller, accountId: string): Promise<boolean> {
  if (!maySee(caller, accountId)) return false;
  return (await sql.query<unknown[]>(ACCOUNT, [accountId, caller.customerId])).length > 0;
}
