import type { DataSource } from 'typeorm';
import { Account } from './entities/account.ts';
import { inTransaction, type Sql, type WriteResult } from './transaction.ts';

export interface NewAccount {
  customerId: string;
  /** By id, or by name: a name that is new is added to the banks. */
  bank: { id: string } | { name: string };
  title: string;
  currency: string;
  iban: string | null;
}

/** Makes an account. @returns null when there is no bank of that id. */
export function createAccount(
  database: DataSource,
  { customerId, bank, title, currency, iban }: NewAccount,
): Promise<Account | null> {
  return inTransaction(database, async (sql) => {
    const bankId = 'id' in bank ? await existingBank(sql, bank.id) : await bankOfName(sql, bank.name);
    if (bankId === null) return null;
    const { insertId } = await sql.query<WriteResult>(
      'INSERT INTO accounts (customer_id, bank_id, title, currency, iban) VALUES (?, ?, ?, ?, ?)',
      [customerId, bankId, title, currency, iban],
    );
    return String(insertId);
  }).then((id) => (id === null ? null : findAccount(database, id)));
}

function findAccount(database: DataSource, id: string): Promise<Account> {
  return database.getRepository(Account).findOneOrFail({ where: { id }, relations: { bank: true } });
}

async function existingBank(sql: Sql, id: string): Promise<string | null> {
  const [bank] = await sql.query<{ id: string }[]>('SELECT id FROM banks WHERE id = ?', [id]);
  return bank?.id ?? null;
}

async function bankOfName(sql: Sql, name: string): Promise<string | null> {
  await sql.query('INSERT INTO banks (name) VALUES (?) ON DUPLICATE KEY UPDATE id = id', [name]);
  const [bank] = await sql.query<{ id: string }[]>('SELECT id FROM banks WHERE name = ?', [name]);
  return bank?.id ?? null;
}
