import { derivedRows, type Sql } from '../database/transaction.ts';

/** A customer's row in import_locks, as it is while the row is locked. */
export interface ImportLock {
  /** The id of the customer's newest movement. Movements stored under this lock get larger ids. */
  newest: string;
  /** The `date_readed` of all movements stored under this lock. */
  dateReaded: string;
  /** Changes whenever one of the customer's webhooks starts to match something else. */
  filtersVersion: number;
  /** Changes whenever rows that were valid become invalid; see RemovedTime. */
  removals: number;
}

/**
 * Serialises the imports of a customer, so that ids and date_readed grow in commit order. SYSDATE is the time after the lock was
 * acquired. NOW is the time before the wait for the lock: with it, a client that polls with `after` set by its own clock could miss
 * movements. Locks in primary key order.
 */
const LOCK = `
  SELECT customer_id, last_transaction_id, filters_version, removals,
    DATE_FORMAT(GREATEST(SYSDATE(6), last_date_readed), '%Y-%m-%d %H:%i:%s.%f') AS date_readed
  FROM import_locks FORCE INDEX (PRIMARY) WHERE customer_id IN (?) ORDER BY customer_id FOR UPDATE`;

/**
 * A customer's newest movement is its last entry in the index transactions_customer_page, which is read backwards. STRAIGHT_JOIN: see
 * UPDATE_ACCOUNTS.
 */
const ADVANCE = (customers: number) => `
  UPDATE (${derivedRows(['customer_id', 'date_readed', 'added'], customers)}) r
  STRAIGHT_JOIN import_locks l FORCE INDEX (PRIMARY) ON l.customer_id = r.customer_id
  SET l.last_date_readed = r.date_readed, l.movements = l.movements + r.added,
    l.last_transaction_id = (
      SELECT t.id FROM transactions t FORCE INDEX (transactions_customer_page)
      WHERE t.customer_id = l.customer_id ORDER BY t.customer_id DESC, t.id DESC LIMIT 1)`;

/**
 * Locks customers until the transaction ends.
 * @param options.skipLocked leaves out customers that another transaction has locked, instead of waiting for them.
 * @returns the locks by customer id.
 */
export async function lockCustomers(
  sql: Sql,
  customerIds: readonly string[],
  { skipLocked = false } = {},
): Promise<Map<string, ImportLock>> {
  const rows = await sql.query<
    {
      customer_id: string;
      last_transaction_id: string;
      filters_version: number;
      removals: number;
      date_readed: string;
    }[]
  >(skipLocked ? `${LOCK} SKIP LOCKED` : LOCK, [customerIds]);
  return new Map(
    rows.map((row) => [
      row.customer_id,
      {
        newest: row.last_transaction_id,
        dateReaded: row.date_readed,
        filtersVersion: row.filters_version,
        removals: row.removals,
      },
    ]),
  );
}

/** Updates locked customers after their movements were stored. @param added the number of new movements by customer id. */
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
