import { derivedRows } from '../database/rows.ts';
import type { Sql } from '../database/transaction.ts';

/** What an import may rely on while it has locked its customer. */
export interface ImportLock {
  /** The customer's newest movement: all that is stored under this lock has a larger id. */
  newest: string;
  /** `date_readed` of what is stored under this lock. */
  dateReaded: string;
  /** Changes with each change of what one of the customer's webhooks matches. */
  filtersVersion: number;
}

/**
 * Serialises the imports of a customer, so that ids and date_readed grow in the order of commits. SYSDATE is the moment at which the
 * lock was there; NOW would be the one at which waiting for it began, and a poller that asks by its own clock would have passed it
 * by. By the primary key, in its order.
 */
const LOCK = `
  SELECT customer_id, last_transaction_id, filters_version,
    DATE_FORMAT(GREATEST(SYSDATE(6), last_date_readed), '%Y-%m-%d %H:%i:%s.%f') AS date_readed
  FROM import_locks WHERE customer_id IN (?) ORDER BY customer_id FOR UPDATE`;

/** The newest movement of each is the first entry of transactions_customer_page, read backwards. */
const ADVANCE = (customers: number) => `
  UPDATE import_locks l JOIN (${derivedRows(['customer_id', 'date_readed', 'added'], customers)}) r ON r.customer_id = l.customer_id
  SET l.last_date_readed = r.date_readed, l.movements = l.movements + r.added,
    l.last_transaction_id = (
      SELECT t.id FROM transactions t FORCE INDEX (transactions_customer_page)
      WHERE t.customer_id = l.customer_id ORDER BY t.customer_id DESC, t.id DESC LIMIT 1)`;

/**
 * Locks customers until the transaction ends.
 * @param options.skipLocked leaves out those that somebody else has locked, instead of waiting for them.
 */
export async function lockCustomers(
  sql: Sql,
  customerIds: readonly string[],
  { skipLocked = false } = {},
): Promise<Map<string, ImportLock>> {
  const rows = await sql.query<
    { customer_id: string; last_transaction_id: string; filters_version: number; date_readed: string }[]
  >(skipLocked ? `${LOCK} SKIP LOCKED` : LOCK, [customerIds]);
  return new Map(
    rows.map((row) => [
      row.customer_id,
      {
        newest: row.last_transaction_id,
        dateReaded: row.date_readed,
        filtersVersion: row.filters_version,
      },
    ]),
  );
}

/** Moves locked customers past the movements that were stored. @param added how many, by customer. */
export async function advanceLocks(
  sql: Sql,
  locks: ReadonlyMap<string, ImportLock>,
  added: ReadonlyMap<string, number>,
): Promise<void> {
  const rows = [...added].map(([customerId, count]) => [
    customerId,
    locks.get(customerId)?.dateReaded,
    count,
  ]);
  await sql.query(ADVANCE(rows.length), rows.flat());
}
