import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';

/** Makes segments of the movements for the listings, and counts with them. */

/** Movements per segment. Walking past a segment takes 1.5 ms, and ten million movements make only a thousand segments. */
export const SEGMENT_SIZE = 10_000;

/** account_id of the rows that count the movements of all accounts. */
export const ALL_ACCOUNTS = '0';

/** Compares only counts. They show which customers to check. Listings do not depend on them. */
const FIND_WAITING_CUSTOMERS = `
  SELECT l.customer_id FROM import_locks l LEFT JOIN segment_checkpoints b ON b.customer_id = l.customer_id
  WHERE l.movements >= COALESCE(b.movements, 0) + ?`;

/** Inserts the checkpoint if there is none yet, and locks it in any case. No other segment is made until the transaction ends. */
export const LOCK_CHECKPOINT =
  'INSERT INTO segment_checkpoints (customer_id) VALUES (?) ON DUPLICATE KEY UPDATE customer_id = customer_id';

const READ_CHECKPOINT = 'SELECT last_id FROM segment_checkpoints WHERE customer_id = ?';

/** Ends at the newest movement in import_locks. Movements beyond it may be uncommitted, and others may still get smaller ids. */
const LAST_OF_SEGMENT = `
  SELECT id FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? AND id <= (SELECT last_transaction_id FROM import_locks WHERE customer_id = ?)
  ORDER BY id LIMIT 1 OFFSET ?`;

const COUNT_PER_ACCOUNT = `
  SELECT account_id, COUNT(*) AS movements, MIN(date_issue) AS first_date_issue, MAX(date_issue) AS last_date_issue
  FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? AND id <= ? GROUP BY account_id`;

const STORE_SEGMENTS = `
  INSERT INTO transaction_segments (customer_id, account_id, last_id, movements, first_date_issue, last_date_issue)
  VALUES ?`;

const MOVE_CHECKPOINT =
  'UPDATE segment_checkpoints SET last_id = ?, movements = movements + ? WHERE customer_id = ?';

/**
 * Makes whole segments of the movements stored since the last segment. Several processes may do this at the same time. They wait
 * for each other, but no import waits for them.
 * @param size movements per segment.
 * @param most most segments to make, for all customers together. The next call makes the rest.
 * @param signal stops the work after the current segment.
 * @returns the number of segments made.
 */
export async function makeSegments(
  database: DataSource,
  {
    size = SEGMENT_SIZE,
    most = Number.POSITIVE_INFINITY,
    signal,
  }: { size?: number; most?: number; signal?: AbortSignal } = {},
): Promise<number> {
  let made = 0;
  for (const { customer_id: customerId } of await findWaiting(database, size)) {
    while (
      made < most &&
      !signal?.aborted &&
      (await inTransaction(database, (sql) => makeSegment(sql, customerId, size)))
    )
      made += 1;
  }
  return made;
}

/** Finds the customers with enough movements for another segment. */
export const findWaiting = (sql: Sql, size = SEGMENT_SIZE): Promise<{ customer_id: string }[]> =>
  sql.query(FIND_WAITING_CUSTOMERS, [size]);

/**
 * Makes a customer's next segment.
 * @param sql a transaction.
 * @returns false when there are not enough movements.
 */
export async function makeSegment(sql: Sql, customerId: string, size: number): Promise<boolean> {
  await sql.query(LOCK_CHECKPOINT, [customerId]);
  const [checkpoint] = await sql.query<{ last_id: string }[]>(READ_CHECKPOINT, [customerId]);
  const after = checkpoint?.last_id ?? '0';
  const [last] = await sql.query<{ id: string }[]>(LAST_OF_SEGMENT, [
    customerId,
    after,
    customerId,
    size - 1,
  ]);
  if (last === undefined) return false;
  const accounts = await sql.query<AccountCount[]>(COUNT_PER_ACCOUNT, [customerId, after, last.id]);
  const rows = [...accounts, countAll(accounts)].map((it) => [
    customerId,
    it.account_id,
    last.id,
    it.movements,
    it.first_date_issue,
    it.last_date_issue,
  ]);
  await sql.query(STORE_SEGMENTS, [rows]);
  await sql.query(MOVE_CHECKPOINT, [last.id, size, customerId]);
  return true;
}

interface AccountCount {
  account_id: string;
  movements: string;
  first_date_issue: string;
  last_date_issue: string;
}

function countAll(accounts: readonly AccountCount[]): AccountCount {
  const days = accounts.flatMap((it) => [it.first_date_issue, it.last_date_issue]).sort();
  return {
    account_id: ALL_ACCOUNTS,
    movements: String(accounts.reduce((sum, { movements }) => sum + Number(movements), 0)),
    first_date_issue: days[0] as string,
    last_date_issue: days.at(-1) as string,
  };
}

/** Index: the primary key. */
const SUM_SEGMENTS = `
  SELECT COALESCE(SUM(s.movements), 0) AS movements, COALESCE(MAX(c.last_id), 0) AS last_id
  FROM segment_checkpoints c
  LEFT JOIN transaction_segments s ON s.customer_id = c.customer_id AND s.account_id = ? WHERE c.customer_id = ?`;

/** The indexes have all columns that are read. */
const COUNT_BEYOND_SEGMENTS = {
  customer:
    'SELECT COUNT(*) AS movements FROM transactions FORCE INDEX (transactions_customer_page) WHERE customer_id = ? AND id > ?',
  account:
    'SELECT COUNT(*) AS movements FROM transactions FORCE INDEX (transactions_account_page) WHERE account_id = ? AND id > ?',
};

/**
 * Counts the movements of an account or a customer. Does not read all of them, because segments have counts.
 * @param accountId null: all accounts of the customer.
 */
export async function countMovements(
  sql: Sql,
  { customerId, accountId }: { customerId: string; accountId: string | null },
): Promise<number> {
  const [segments] = await sql.query<{ movements: string; last_id: string }[]>(SUM_SEGMENTS, [
    accountId ?? ALL_ACCOUNTS,
    customerId,
  ]);
  const [beyond] = await sql.query<{ movements: string }[]>(
    accountId === null ? COUNT_BEYOND_SEGMENTS.customer : COUNT_BEYOND_SEGMENTS.account,
    [accountId ?? customerId, segments?.last_id ?? '0'],
  );
  return Number(segments?.movements ?? 0) + Number(beyond?.movements ?? 0);
}
