import type { DataSource } from 'typeorm';
import { type Caller, maySee } from '../http/environment.ts';
import { UNKNOWN_ACCOUNT } from '../importing/chunks.ts';
import type { Movement } from '../importing/movement.ts';
import type { ValidationIssue } from '../validation.ts';

/** Customers whose accounts a process caches. An account is never removed from its customer, so the cache stays valid. */
const CACHED_CUSTOMERS = 10_000;

const ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';

/**
 * Creates a function that returns an issue for each movement of an account that the caller cannot see. A customer's accounts are
 * read again only when an account is not in the cache.
 */
export function createAccountCheck(database: DataSource) {
  const cache = new Map<string, ReadonlySet<string>>();

  async function readAccounts(customerId: string): Promise<ReadonlySet<string>> {
    const rows = await database.query<{ id: string }[]>(ACCOUNTS, [customerId]);
    const accounts = new Set(rows.map(({ id }) => id));
    cache.delete(customerId);
    cache.set(customerId, accounts);
    const [oldest = customerId] = cache.keys();
    if (cache.size > CACHED_CUSTOMERS) cache.delete(oldest);
    return accounts;
  }

  return async function findUnknownAccounts(
    caller: Caller,
    movements: readonly Movement[],
  ): Promise<ValidationIssue[]> {
    const isKnown = (accounts: ReadonlySet<string>) =>
      movements.every(({ account_id }) => accounts.has(account_id));
    let accounts = cache.get(caller.customerId);
    if (accounts === undefined || !isKnown(accounts)) accounts = await readAccounts(caller.customerId);
    return movements.flatMap(({ account_id }, index) =>
      accounts.has(account_id) && maySee(caller, account_id)
        ? []
        : [{ path: `transactions.${index}.${UNKNOWN_ACCOUNT.path}`, message: UNKNOWN_ACCOUNT.message }],
    );
  };
}
