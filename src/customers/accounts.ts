import type { DataSource } from 'typeorm';
import { Account } from '../platform/database/entities/account.ts';
import { inTransaction, type Sql, type WriteResult } from '../platform/database/transaction.ts';
import { notFound } from '../platform/problems/problem.ts';
import type { AccountChange } from './account-view.ts';
import { type Caller, maySee } from './caller.ts';

export interface NewAccount {
  customerId: string;
  /** One of the customer's banks by id, or a bank by name. A new name is added to the customer's banks. */
  bank: { id: string } | { name: string };
  title: string;
  currency: string;
  iban: string | null;
  /** Runs in the same transaction. */
  record?: (sql: Sql, accountId: string) => Promise<void>;
  /** The account number as the bank writes it, by which statements without an IBAN find the account. */
  number?: string | null;
}

/** Creates an account. @returns null when the customer has no bank with that id. */
export function createAccount(
  database: DataSource,
  { customerId, bank, title, currency, iban, record, number = null }: NewAccount,
): Promise<Account | null> {
  return inTransaction(database, async (sql) => {
    const bankId =
      'id' in bank
        ? await existingBank(sql, customerId, bank.id)
        : await bankOfName(sql, customerId, bank.name);
    if (bankId === null) return null;
    const { insertId } = await sql.query<WriteResult>(
      'INSERT INTO accounts (customer_id, bank_id, title, currency, iban, number) VALUES (?, ?, ?, ?, ?, ?)',
      [customerId, bankId, title, currency, iban, number],
    );
    const id = String(insertId);
    await record?.(sql, id);
    return id;
  }).then((id) => (id === null ? null : readAccount(database, id)));
}

function readAccount(database: DataSource, id: string): Promise<Account> {
  return database.getRepository(Account).findOneOrFail({ where: { id }, relations: { bank: true } });
}

const BANK_OF_ID = 'SELECT id FROM banks WHERE id = ? AND customer_id = ?';
/** Index: banks_name. */
const BANK_OF_NAME = 'SELECT id FROM banks WHERE customer_id = ? AND name = ?';
const ADD_BANK = 'INSERT INTO banks (customer_id, name) VALUES (?, ?) ON DUPLICATE KEY UPDATE id = id';

async function existingBank(sql: Sql, customerId: string, id: string): Promise<string | null> {
  const [bank] = await sql.query<{ id: string }[]>(BANK_OF_ID, [id, customerId]);
  return bank?.id ?? null;
}

async function bankOfName(sql: Sql, customerId: string, name: string): Promise<string | null> {
  await sql.query(ADD_BANK, [customerId, name]);
  const [bank] = await sql.query<{ id: string }[]>(BANK_OF_NAME, [customerId, name]);
  return bank?.id ?? null;
}

/** The customer's banks. By the primary key: a customer has few. */
const BANKS = 'SELECT id, name FROM banks WHERE customer_id = ? AND id > ? ORDER BY id LIMIT ?';

export function findBanks(
  sql: Sql,
  customerId: string,
  { after, limit }: { after: string; limit: number },
): Promise<{ id: string; name: string }[]> {
  return sql.query(BANKS, [customerId, after, limit]);
}

const ACCOUNT = "SELECT 1 FROM accounts WHERE id = ? AND customer_id = ? AND status <> 'deleting'";

/** Whether an account exists that the caller can see, and that is not being deleted. Index: the primary key. */
export async function hasAccount(sql: Sql, caller: Caller, accountId: string): Promise<boolean> {
  if (!maySee(caller, accountId)) return false;
  return (await sql.query<unknown[]>(ACCOUNT, [accountId, caller.customerId])).length > 0;
}

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

/** @throws {Problem} 404. */
export async function findAccount(database: DataSource, caller: Caller, id: string): Promise<Account> {
  const account = maySee(caller, id)
    ? await database
        .getRepository(Account)
        .findOne({ where: { id, customerId: caller.customerId }, relations: { bank: true } })
    : null;
  if (account === null) throw notFound('account');
  return account;
}
