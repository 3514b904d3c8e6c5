import type { Sql } from '../database/transaction.ts';

/** An account as the API shows it with each of its movements. */
export interface ListedAccount {
  id: string;
  title: string;
  bank_id: string;
  bank: { id: string; name: string };
}

const ACCOUNTS = `
  SELECT a.id, a.title, a.bank_id, b.name AS bank_name FROM accounts a JOIN banks b ON b.id = a.bank_id
  WHERE a.id IN (?) AND a.customer_id = ?`;

/**
 * Reads the accounts that rows name, by id. Apart from the movements: a page of a thousand names the same few over and over.
 * Of another customer's accounts there is nothing.
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
      { id, title, bank_id, bank: { id: bank_id, name: bank_name } },
    ]),
  );
}
