import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { deleteMovements } from '../../movements/delete-movements.ts';
import { leastId, repeatInOrder, type Steps } from './steps.ts';

/** Removes old movements that no webhook needs any more. */

/** The lowest cursor of the customer's webhooks with pending movements. Index: webhooks_customer. */
const PENDING_AFTER = `
  SELECT MIN(c.sent_through) AS id
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.customer_id = ? AND w.status <> 'deleted' AND b.matched_through > c.sent_through`;

/** Keeps the cursors of feeds where they are until the end of a transaction. A replay of a feed moves its cursor back. Index: webhooks_customer. */
export const HOLD_FEEDS = `
  SELECT c.sent_through FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id
  WHERE w.customer_id = ? AND w.delivery = 'pull' AND w.status <> 'deleted' LOCK IN SHARE MODE`;

/** A delivery needs its movement, because it is shown with it and may be sent again. Indexes: webhooks_customer, and the primary key. */
const OLDEST_DELIVERY = `
  SELECT MIN((SELECT d.transaction_id FROM deliveries d FORCE INDEX (PRIMARY) WHERE d.webhook_id = w.id
    ORDER BY d.webhook_id, d.transaction_id LIMIT 1)) AS id
  FROM webhooks w WHERE w.customer_id = ? AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS}`;

/** Index: transactions_customer_page, which covers these columns. */
const READ_MOVEMENTS = `
  SELECT id, date_issue FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`;

/**
 * Imports compare `removals` with the value that they have read before. So a movement that was issued before this day is already stored,
 * or is rejected. A removed movement therefore cannot be stored and sent a second time.
 */
const REFUSE_BEFORE = `
  UPDATE import_locks SET removals = removals + 1, removed_before = ?
  WHERE customer_id = ? AND (removed_before IS NULL OR removed_before < ?)`;

/** Cursors of feeds before this id are refused, because they may have missed movements. */
export const SET_REMOVED_THROUGH = `
  UPDATE import_locks SET removed_through = ? WHERE customer_id = ? AND removed_through < ?`;

/** Old movements of a customer: up to an id, and issued before a day (YYYY-MM-DD). */
interface OldMovements {
  customerId: string;
  through: bigint;
  issuedBefore: string;
}

/**
 * Removes old movements of a customer, up to the first movement that is still to be sent or has a delivery.
 * @returns how many movements were removed.
 */
export async function removeMovements(
  database: DataSource,
  steps: Steps,
  { customerId, through, issuedBefore }: OldMovements,
): Promise<number> {
  const end = String(await lastRemovable(database, customerId, through));
  return repeatInOrder(steps, async (after, rows) => {
    const values = [customerId, after, end, rows];
    const found = await database.query<{ id: string; date_issue: string }[]>(READ_MOVEMENTS, values);
    const last = found.length === rows ? (found.at(-1)?.id ?? null) : null;
    const old = found.filter(({ date_issue }) => date_issue < issuedBefore).map(({ id }) => id);
    if (old.length === 0) return { count: 0, last };
    await refuseBefore(database, { customerId, through: old.at(-1) ?? '0', issuedBefore });
    const { deleted, through: deletedThrough } = await inTransaction(database, async (sql) => {
      await sql.query(HOLD_FEEDS, [customerId]);
      // A feed may have been replayed since the last step, so that it needs these movements again.
      const stillEnd = await lastRemovable(sql, customerId, through);
      const removable = old.filter((id) => BigInt(id) <= stillEnd);
      return removable.length === 0
        ? { deleted: 0, through: null }
        : deleteMovements(sql, customerId, removable);
    });
    if (deletedThrough === null) return { count: 0, last: null };
    return { count: deleted, last: deletedThrough === old.at(-1) ? last : deletedThrough };
  });
}

const refuseBefore = (
  database: DataSource,
  { customerId, through, issuedBefore }: { customerId: string; through: string; issuedBefore: string },
): Promise<unknown> =>
  inTransaction(database, async (sql) => {
    await sql.query(REFUSE_BEFORE, [issuedBefore, customerId, issuedBefore]);
    await sql.query(SET_REMOVED_THROUGH, [through, customerId, through]);
  });

/** The last id up to which nothing is to be sent any more, and nothing has a delivery. */
export async function lastRemovable(sql: Sql, customerId: string, through: bigint): Promise<bigint> {
  const [pending] = await sql.query<{ id: string | null }[]>(PENDING_AFTER, [customerId]);
  const [delivery] = await sql.query<{ id: string | null }[]>(OLDEST_DELIVERY, [customerId]);
  return leastId(through, pending?.id, delivery?.id && BigInt(delivery.id) - 1n);
}
