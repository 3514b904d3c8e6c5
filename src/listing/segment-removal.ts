import type { Sql } from '../database/transaction.ts';
import { ALL_ACCOUNTS } from './segment-maker.ts';

/** Keeps the counts of segments right when movements are removed. */

/** Inserts the checkpoint if there is none yet, and locks it in any case: no segment is made until the transaction ends. */
const LOCK =
  'INSERT INTO segment_checkpoints (customer_id) VALUES (?) ON DUPLICATE KEY UPDATE customer_id = customer_id';

/** Index: the primary key. */
const SEGMENT_OF = `
  SELECT last_id FROM transaction_segments WHERE customer_id = ? AND account_id = ${ALL_ACCOUNTS} AND last_id >= ?
  ORDER BY customer_id, account_id, last_id LIMIT 1`;

const SUBTRACT = `
  UPDATE transaction_segments SET movements = movements - ? WHERE customer_id = ? AND account_id = ? AND last_id = ?`;

const DELETE_EMPTY = `
  DELETE FROM transaction_segments WHERE customer_id = ? AND account_id IN (?) AND last_id = ? AND movements = 0`;

/** They are in no segment, and never will be. */
const SKIP = 'UPDATE segment_checkpoints SET movements = movements + ? WHERE customer_id = ?';

/**
 * Locks the segments of a customer, and finds the one that holds a movement.
 * @param sql a transaction.
 * @returns the id of its last movement; null: the movement is in no segment yet.
 */
export async function lockSegment(
  sql: Sql,
  customerId: string,
  transactionId: string,
): Promise<string | null> {
  await sql.query(LOCK, [customerId]);
  const [segment] = await sql.query<{ last_id: string }[]>(SEGMENT_OF, [customerId, transactionId]);
  return segment?.last_id ?? null;
}

/**
 * Subtracts movements from the counts of their segment, in the transaction that deletes them.
 * @param segment as `lockSegment` found it for the first of them. All of them must be in it, or, for null, in none.
 */
export async function subtractFromSegment(
  sql: Sql,
  { customerId, segment }: { customerId: string; segment: string | null },
  movements: readonly { account_id: string }[],
): Promise<void> {
  if (segment === null) {
    await sql.query(SKIP, [movements.length, customerId]);
    return;
  }
  const counts = new Map([[ALL_ACCOUNTS, movements.length]]);
  for (const { account_id } of movements) counts.set(account_id, (counts.get(account_id) ?? 0) + 1);
  for (const [accountId, count] of counts) {
    await sql.query(SUBTRACT, [count, customerId, accountId, segment]);
  }
  await sql.query(DELETE_EMPTY, [customerId, [...counts.keys()], segment]);
}
