import type { Sql } from '../database/transaction.ts';
import { lockSegment, subtractFromSegment } from '../listing/segment-removal.ts';
import { deleteByIds } from './delete-by-ids.ts';

/** Index of both: the primary key. */
const STORED = 'SELECT id, account_id FROM transactions FORCE INDEX (PRIMARY) WHERE id IN (?)';
const DELETE = 'DELETE FROM transactions WHERE id IN (?)';

/** What became of movements that were to be deleted. */
export interface MovementDeletion {
  deleted: number;
  /** All of them up to this id are gone. */
  through: string;
}

/**
 * Deletes movements of one segment, and keeps the counts of the segment right. Several processes may do so at the same time: each
 * movement is subtracted once.
 * @param sql a transaction.
 * @param ids of movements of one customer, in their order; at least one. Those beyond the segment of the first are left.
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
  const stored = await sql.query<{ id: string; account_id: string }[]>(STORED, [part]);
  if (stored.length > 0) {
    await deleteByIds(
      sql,
      DELETE,
      [],
      stored.map(({ id }) => id),
    );
    await subtractFromSegment(sql, { customerId, segment }, stored);
  }
  return { deleted: stored.length, through: part.at(-1) ?? first };
}
