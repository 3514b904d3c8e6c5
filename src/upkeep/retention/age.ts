import type { Sql } from '../../database/transaction.ts';
import { FIRST_READ_AFTER, FIRST_WITHDRAWN_AFTER } from '../../movements/listing.ts';

/** Finds movements that are older than a moment. */

const DAY = 24 * 60 * 60 * 1_000;

const READ_NOW = 'SELECT NOW(3) AS now';

/** The time of MySQL's clock, which all processes share. */
export async function readNow(sql: Sql): Promise<Date> {
  const [row] = await sql.query<{ now: Date }[]>(READ_NOW);
  if (row === undefined) throw new Error('MySQL does not say what time it is');
  return row.now;
}

/** The moment that is this many days before `now`. */
export const daysBefore = (now: Date, days: number): Date => new Date(now.getTime() - days * DAY);

/** A calendar date in UTC, as MySQL writes it. */
export const dateOf = (moment: Date): string => moment.toISOString().slice(0, 10);

const READ_LAST_MOVEMENT_ID = 'SELECT last_transaction_id FROM import_locks WHERE customer_id = ?';

/** Finds the newest movement of a customer that was stored before a moment. */
type FindNewestBefore = (customerId: string) => Promise<bigint>;

/**
 * A customer's ids grow with date_readed, so all movements up to one id are older than a moment. Therefore the other tables need no index
 * on their times.
 * @returns a function that finds this id for a customer, and remembers it; 0: nothing is older.
 */
export function createAgeFinder(sql: Sql, before: Date): FindNewestBefore {
  const found = new Map<string, bigint>();
  return async (customerId) => {
    const known = found.get(customerId);
    if (known !== undefined) return known;
    // Read first. The second statement then finds any movement that is stored after this.
    const [lock] = await sql.query<{ last_transaction_id: string }[]>(READ_LAST_MOVEMENT_ID, [customerId]);
    const [younger] = await sql.query<{ id: string }[]>(FIRST_READ_AFTER, [customerId, before]);
    // Withdrawals have ids of the same sequence.
    const [withdrawn] = await sql.query<{ id: string }[]>(FIRST_WITHDRAWN_AFTER, [customerId, before]);
    const last = BigInt(lock?.last_transaction_id ?? 0);
    const newest = [younger, withdrawn].reduce(
      (least, found) => (found !== undefined && BigInt(found.id) <= least ? BigInt(found.id) - 1n : least),
      last,
    );
    found.set(customerId, newest);
    return newest;
  };
}
