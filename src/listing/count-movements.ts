import type { Sql } from '../database/transaction.ts';
import { ALL_ACCOUNTS } from './segment-maker.ts';

/** Index: the primary key. */
const IN_SEGMENTS = `
  SELECT COALESCE(SUM(s.movements), 0) AS movements, COALESCE(MAX(c.last_id), 0) AS last_id
  FROM segment_checkpoints c
  LEFT JOIN transaction_segments s ON s.customer_id = c.customer_id AND s.account_id = ? WHERE c.customer_id = ?`;

/** The indexes have all columns that are read. */
const BEYOND = {
  customer:
    'SELECT COUNT(*) AS movements FROM transactions FORCE INDEX (transactions_customer_page) WHERE customer_id = ? AND id > ?',
  account:
    'SELECT COUNT(*) AS movements FROM transactions FORCE INDEX (transactions_account_page) WHERE account_id = ? AND id > ?',
};

/**
 * Counts the movements of an account, or of a customer, without reading all of them: segments know how many they have.
 * @param accountId null: all accounts of the customer.
 */
export async function countMovements(
  sql: Sql,
  { customerId, accountId }: { customerId: string; accountId: string | null },
): Promise<number> {
  const [segments] = await sql.query<{ movements: string; last_id: string }[]>(IN_SEGMENTS, [
    accountId ?? ALL_ACCOUNTS,
    customerId,
  ]);
  const [beyond] = await sql.query<{ movements: string }[]>(
    accountId === null ? BEYOND.customer : BEYOND.account,
    [accountId ?? customerId, segments?.last_id ?? '0'],
  );
  return Number(segments?.movements ?? 0) + Number(beyond?.movements ?? 0);
}
