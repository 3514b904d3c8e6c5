import type { Sql } from '../database/transaction.ts';

/** An account as the API returns it with each of its movements. */
export interface ListedAccount {
  id: number;
  title: string;
  bank_id: number;
  bank: { id: number; name: string };
}

const ACCOUNTS = `
  SELECT a.id, a.title, a.bank_id, b.name AS bank_name FROM accounts a JOIN banks b ON b.id = a.bank_id
  WHERE a.id IN (?) AND a.customer_id = ?`;

/**
 * Reads the accounts of these rows, by id. They are not joined to the movements, because the movements of a page have only a few
 * accounts. Accounts of another customer are left out.
 */
export async function readAccounts(
  sql: Sql,
  customerId: string,
  rows: readonly { account_id: string }[],
): Promise<Map<string, ListedAccount>> {
  if (rows.length === 0) return new Map();
  const ids = [...new Set(rows.map(({ account_id }) => account_id))];
  const found = await sql.query<{ id: string; title: string; bank_id: string; bank_name: string }[]>(
    ACCOUNTS,
    [ids, customerId],
  );
  return new Map(
    found.map(({ id, title, bank_id, bank_name }) => [
      id,
      { id: Number(id), title, bank_id: Number(bank_id), bank: { id: Number(bank_id), name: bank_name } },
    ]),
  );
}
