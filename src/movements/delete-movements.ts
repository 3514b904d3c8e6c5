import type { Sql } from '../database/transaction.ts';
import { lockSegment, subtractFromSegment } from './segments.ts';

/** Deletes movements, and keeps the counts of the listings correct. */

/**
 * Ids of one statement. With 200 or more, MySQL relies on its statistics (eq_range_index_dive_limit), and may read the whole table if they
 * are old.
 */
const IDS = 100;

/** Index of both: the primary key. */
const FIND_STORED_MOVEMENTS = 'SELECT id, account_id FROM transactions FORCE INDEX (PRIMARY) WHERE id IN (?)';
const DELETE_MOVEMENTS = 'DELETE FROM transactions WHERE id IN (?)';

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
 */
export async function deleteMovements(
  sql: Sql,
  customerId: string,
  ids: readonly string[],
): Promise<MovementDeletion> {
  const [first] = ids;
  if (first === undefined) throw new Error('there are no movements to delete');
  const segment = await lockSegment(sql, customerId, first);
  const part = segment === null ? ids : ids.filter((id) => BigInt(id) <= BigInt(segment));
  const stored = await sql.query<{ id: string; account_id: string }[]>(FIND_STORED_MOVEMENTS, [part]);
  if (stored.length > 0) {
    const found = stored.map(({ id }) => id);
    for (let from = 0; from < found.length; from += IDS)
      await sql.query(DELETE_MOVEMENTS, [found.slice(from, from + IDS)]);
    await subtractFromSegment(sql, { customerId, segment }, stored);
  }
  return { deleted: stored.length, through: part.at(-1) ?? first };
}
