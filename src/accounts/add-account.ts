import type { DataSource } from 'typeorm';
import { Account } from '../database/entities/account.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';

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
  }).then((id) => (id === null ? null : findAccount(database, id)));
}

function findAccount(database: DataSource, id: string): Promise<Account> {
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
