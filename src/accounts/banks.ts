import type { Sql } from '../database/transaction.ts';

/** The customer's banks. By the primary key: a customer has few. */
const BANKS = 'SELECT id, name FROM banks WHERE customer_id = ? AND id > ? ORDER BY id LIMIT ?';

export function findBanks(
  sql: Sql,
  customerId: string,
  { after, limit }: { after: string; limit: number },
): Promise<{ id: string; name: string }[]> {
  return sql.query(BANKS, [customerId, after, limit]);
}
