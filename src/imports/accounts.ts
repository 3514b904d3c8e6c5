import type { DataSource } from 'typeorm';
import { type Caller, maySee } from '../http/environment.ts';
import { UNKNOWN_ACCOUNT } from '../importing/importer.ts';
import type { Movement } from '../importing/movement.ts';
import type { ValidationIssue } from '../validation.ts';

/** Customers whose accounts one process keeps. An account is never taken from its customer, so they need not be read again. */
const KEPT_CUSTOMERS = 10_000;

const ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';

/**
 * Makes a function that finds the movements of accounts the caller cannot see, each by its path. A customer's accounts are read again
 * only when one is not known.
 */
export function createAccountCheck(database: DataSource) {
  const kept = new Map<string, ReadonlySet<string>>();

  async function readAccounts(customerId: string): Promise<ReadonlySet<string>> {
    const rows = await database.query<{ id: string }[]>(ACCOUNTS, [customerId]);
    const accounts = new Set(rows.map(({ id }) => id));
    kept.delete(customerId);
    kept.set(customerId, accounts);
    const [oldest = customerId] = kept.keys();
    if (kept.size > KEPT_CUSTOMERS) kept.delete(oldest);
    return accounts;
  }

  return async function findUnknownAccounts(
    caller: Caller,
    movements: readonly Movement[],
  ): Promise<ValidationIssue[]> {
    const isKnown = (accounts: ReadonlySet<string>) =>
      movements.every(({ account_id }) => accounts.has(account_id));
    let accounts = kept.get(caller.customerId);
    if (accounts === undefined || !isKnown(accounts)) accounts = await readAccounts(caller.customerId);
    return movements.flatMap(({ account_id }, index) =>
      accounts.has(account_id) && maySee(caller, account_id)
        ? []
        : [{ path: `transactions.${index}.${UNKNOWN_ACCOUNT.path}`, message: UNKNOWN_ACCOUNT.message }],
    );
  };
}
