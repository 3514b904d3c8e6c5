import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';
import type { AccountChange } from './input.ts';

/** What became of a change. Only in the case of `changed` has anything changed. */
export type AccountUpdate =
  | { outcome: 'changed' }
  | { outcome: 'missing' }
  | { outcome: 'IBAN taken'; by: string };

/**
 * Locks all accounts of the customer that are not being deleted, so that no two of them get the same IBAN at once. Index: the foreign
 * key's.
 */
const LOCK = `
  SELECT id, currency, iban FROM accounts WHERE customer_id = ? AND status <> 'deleting' ORDER BY id FOR UPDATE`;

/** The columns are fields of AccountChange. */
const UPDATE = (columns: readonly string[]) =>
  `UPDATE accounts SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;

/**
 * Changes an account. `IBAN taken`: another account of the customer in the same currency has the IBAN, so that statements would find only
 * one of them.
 * @param record runs in the same transaction, if the account is changed.
 */
export function updateAccount(
  database: DataSource,
  { id, customerId, change }: { id: string; customerId: string; change: AccountChange },
  record: (sql: Sql) => Promise<void>,
): Promise<AccountUpdate> {
  return inTransaction(database, async (sql) => {
    const accounts = await sql.query<{ id: string; currency: string; iban: string | null }[]>(LOCK, [
      customerId,
    ]);
    const account = accounts.find((it) => it.id === id);
    if (account === undefined) return { outcome: 'missing' };
    const { iban = null } = change;
    const other =
      iban === null || iban === account.iban
        ? undefined
        : accounts.find((it) => it.iban === iban && it.currency === account.currency);
    if (other !== undefined) return { outcome: 'IBAN taken', by: other.id };
    await sql.query(UPDATE(Object.keys(change)), [...Object.values(change), id]);
    await record(sql);
    return { outcome: 'changed' };
  });
}
