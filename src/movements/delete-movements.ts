import { deleteByIds } from '../database/delete-by-ids.ts';
import type { Sql } from '../database/transaction.ts';
import { ALL_ACCOUNTS, LOCK_CHECKPOINT } from './segments.ts';

/** Deletes movements, and keeps the counts of their segments right. */

/** Index of both: the primary key. */
const FIND_STORED_MOVEMENTS = 'SELECT id, account_id FROM transactions FORCE INDEX (PRIMARY) WHERE id IN (?)';
const DELETE_MOVEMENTS = 'DELETE FROM transactions WHERE id IN (?)';

/** The rows that belong to a movement. They stay when it is withdrawn. */
const DELETE_DETAILS = [
  'DELETE d FROM transaction_details d FORCE INDEX (PRIMARY) WHERE d.transaction_id IN (?)',
  'DELETE d FROM batch_details d FORCE INDEX (PRIMARY) WHERE d.transaction_id IN (?)',
  'DELETE c FROM movement_conflicts c FORCE INDEX (movement_conflicts_version) WHERE c.transaction_id IN (?)',
];

/** The outcome for movements that were to be deleted. */
interface MovementDeletion {
  deleted: number;
  /** All of these movements up to this id are gone. */
  through: string;
}

/**
 * Deletes movements of one segment, and keeps the counts of the segment correct. Several processes may do this at the same time, because
 * each movement is subtracted only once.
 * @param sql a transaction.
 * @param ids of movements of one customer, in order; at least one. Movements beyond the segment of the first are not deleted.
 * @param options.keepDetails the movements are kept elsewhere, with their details and conflicts.
 */
export async function deleteMovements(
  sql: Sql,
  customerId: string,
  ids: readonly string[],
  { keepDetails = false } = {},
): Promise<MovementDeletion> {
  const [first] = ids;
  if (first === undefined) throw new Error('there are no movements to delete');
  const segment = await lockSegment(sql, customerId, first);
  const part = segment === null ? ids : ids.filter((id) => BigInt(id) <= BigInt(segment));
  const stored = await sql.query<{ id: string; account_id: string }[]>(FIND_STORED_MOVEMENTS, [part]);
  if (stored.length > 0) {
    const found = stored.map(({ id }) => id);
    await deleteByIds(sql, DELETE_MOVEMENTS, [], found);
    if (!keepDetails) await deleteDetails(sql, found);
    await subtractFromSegment(sql, { customerId, segment }, stored);
  }
  return { deleted: stored.length, through: part.at(-1) ?? first };
}

/** Deletes the details and the conflicts of movements. */
export async function deleteDetails(sql: Sql, ids: readonly string[]): Promise<void> {
  for (const statement of DELETE_DETAILS) await deleteByIds(sql, statement, [], ids);
}

/** Index: the primary key. */
const FIND_SEGMENT = `
  SELECT last_id FROM transaction_segments WHERE customer_id = ? AND account_id = ${ALL_ACCOUNTS} AND last_id >= ?
  ORDER BY customer_id, account_id, last_id LIMIT 1`;

const SUBTRACT_MOVEMENTS = `
  UPDATE transaction_segments SET movements = movements - ? WHERE customer_id = ? AND account_id = ? AND last_id = ?`;

const DELETE_EMPTY_SEGMENTS = `
  DELETE FROM transaction_segments WHERE customer_id = ? AND account_id IN (?) AND last_id = ? AND movements = 0`;

/** Counts removed movements that are in no segment, and now never will be. */
const ADD_TO_CHECKPOINT = 'UPDATE segment_checkpoints SET movements = movements + ? WHERE customer_id = ?';

/**
 * Locks the segments of a customer, and finds the one that holds a movement.
 * @param sql a transaction.
 * @returns the id of the segment's last movement; null: the movement is in no segment yet.
 */
async function lockSegment(sql: Sql, customerId: string, transactionId: string): Promise<string | null> {
  await sql.query(LOCK_CHECKPOINT, [customerId]);
  const [segment] = await sql.query<{ last_id: string }[]>(FIND_SEGMENT, [customerId, transactionId]);
  return segment?.last_id ?? null;
}

/**
 * Subtracts movements from the counts of their segment, in the transaction that deletes them.
 * @param segment as `lockSegment` found it for the first of them. All movements must be in this segment or, for null, in none.
 */
async function subtractFromSegment(
  sql: Sql,
  { customerId, segment }: { customerId: string; segment: string | null },
  movements: readonly { account_id: string }[],
): Promise<void> {
  if (segment === null) {
    await sql.query(ADD_TO_CHECKPOINT, [movements.length, customerId]);
    return;
  }
  const counts = new Map([[ALL_ACCOUNTS, movements.length]]);
  for (const { account_id } of movements) counts.set(account_id, (counts.get(account_id) ?? 0) + 1);
  for (const [accountId, count] of counts) {
    await sql.query(SUBTRACT_MOVEMENTS, [count, customerId, accountId, segment]);
  }
  await sql.query(DELETE_EMPTY_SEGMENTS, [customerId, [...counts.keys()], segment]);
}
