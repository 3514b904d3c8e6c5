import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';

/** Milliseconds between two refreshes of innodb_trx. Queried more often, it gives the same rows. */
const INNODB_TRX_REFRESH = 120;

const WAITING = `
  SELECT trx_mysql_thread_id AS id FROM information_schema.innodb_trx
  WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id <> CONNECTION_ID()`;

/** The rows to lock: rows that the product's transactions touch late, so that locking them stops the transactions half-way. */
export type Hold = 'import' | 'delivery';

/** A chunk has already stored its movements when it updates the accounts. */
const HOLD_ACCOUNTS = 'SELECT id FROM accounts ORDER BY id FOR UPDATE';

/** Movements that are about to be delivered. */
const NEXT_MOVEMENTS = `
  SELECT c.webhook_id, t.id, c.customer_id FROM webhook_cursors c JOIN transactions t ON t.customer_id = c.customer_id
  WHERE c.webhook_id IN (?) AND t.id > c.sent_through LIMIT 2000`;

/** A batch of results has already locked its cursor when it inserts its deliveries. It then waits for the lock on these rows. */
const TAKE_ROWS = `
  INSERT IGNORE INTO deliveries
    (webhook_id, transaction_id, customer_id, status, attempts, outcome, started_at, duration_ms) VALUES ?`;

export interface HoldOptions {
  sql: Pool;
  seconds: number;
  webhookIds: readonly string[];
}

/**
 * Stops transactions of the product half-way and kills their connections, for this many seconds.
 * @returns the number of killed connections.
 */
export async function killConnections({ sql, seconds, webhookIds }: HoldOptions): Promise<number> {
  let killed = 0;
  let round = 0;
  await repeat(sql, seconds, async (holder) => {
    round += 1;
    for (const id of await stopHalfWay(holder, round % 2 === 0 ? 'import' : 'delivery', webhookIds)) {
      await sql.query(`KILL ${id}`);
      killed += 1;
    }
  });
  return killed;
}

const MOST_WAITING = 3_000;

/**
 * Calls `act` while a transaction of the product is half-way, and then lets the transaction continue. If none begins within
 * 3 s, or MySQL is unreachable, `act` is called anyway.
 * @returns what was found half-way, for the log.
 */
export async function actHalfWay(
  hold: Hold,
  { sql, webhookIds }: Omit<HoldOptions, 'seconds'>,
  act: () => void,
): Promise<string> {
  const end = performance.now() + MOST_WAITING;
  let holder: PoolConnection | null = null;
  let stopped = 0;
  const look = async () => {
    holder = await sql.getConnection();
    while (stopped === 0 && performance.now() < end) {
      await holder.beginTransaction();
      stopped = (await stopHalfWay(holder, hold, webhookIds)).length;
      if (stopped === 0) await holder.rollback().then(() => sleep(10));
    }
  };
  const looking = look().catch(() => {});
  await Promise.race([looking, sleep(MOST_WAITING)]);
  act();
  void looking.then(() => holder?.destroy());
  return stopped === 0 ? 'nothing half-way' : `${stopped} transactions half-way`;
}

const BALLAST = [
  'CREATE DATABASE IF NOT EXISTS chaos',
  'CREATE TABLE IF NOT EXISTS chaos.ballast (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT) ENGINE=InnoDB',
];
const BALLAST_ROWS = 1_500;

/** As many in a row as the product retries immediately, so that they cost nothing but time. */
const DEADLOCKS = 3;

/**
 * For this many seconds, takes locks that the product takes too, in the opposite order. Its transaction changes more rows than
 * any of the product's, and InnoDB rolls back the transaction that has changed fewer.
 * @returns the number of deadlocks in which the product's transaction was rolled back.
 */
export async function makeDeadlocks(of: Hold, { sql, seconds, webhookIds }: HoldOptions): Promise<number> {
  for (const statement of BALLAST) await sql.query(statement);
  let made = 0;
  await repeat(sql, seconds, async (holder) => {
    if (made >= DEADLOCKS) return;
    await holder.query('INSERT INTO chaos.ballast (n) VALUES ?', [
      Array.from({ length: BALLAST_ROWS }, () => [1]),
    ]);
    if ((await stopHalfWay(holder, of, webhookIds)).length === 0) return;
    // Locked before by the transaction that waits for us.
    await holder.query(`SELECT * FROM ${of === 'import' ? 'import_locks' : 'webhook_cursors'} FOR UPDATE`);
    made += 1;
  });
  return made;
}

/** Holds what the product needs until a transaction waits for it. @returns the waiting connections; empty if there were none. */
async function stopHalfWay(
  holder: PoolConnection,
  hold: Hold,
  webhookIds: readonly string[],
): Promise<number[]> {
  if (!(await take(holder, hold, webhookIds))) return []; // Nothing to hold, so nothing will wait.
  for (let looks = 0; looks < 10; looks += 1) {
    await sleep(INNODB_TRX_REFRESH);
    const [waiting] = await holder.query<(RowDataPacket & { id: number })[]>(WAITING);
    if (waiting.length > 0) return waiting.map(({ id }) => id);
  }
  return [];
}

/** @returns false when there is nothing to hold. */
async function take(holder: PoolConnection, hold: Hold, webhookIds: readonly string[]): Promise<boolean> {
  if (hold === 'import') {
    const [held] = await holder.query<RowDataPacket[]>(HOLD_ACCOUNTS);
    return held.length > 0;
  }
  const [next] = await holder.query<RowDataPacket[]>(NEXT_MOVEMENTS, [webhookIds]);
  const moment = '2000-01-01 00:00:00';
  const rows = next.map((row) => [
    row.webhook_id,
    row.id,
    row.customer_id,
    'pending',
    1,
    'failed',
    moment,
    0,
  ]);
  if (rows.length > 0) await holder.query(TAKE_ROWS, [rows]);
  return rows.length > 0;
}

/** Repeats `work`, each time in a transaction that is rolled back. */
async function repeat(
  sql: Pool,
  seconds: number,
  work: (holder: PoolConnection) => Promise<void>,
): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    const holder = await sql.getConnection();
    try {
      await holder.beginTransaction();
      await work(holder);
    } catch (error) {
      // Our transaction was rolled back, or the connection to be killed had already ended. The next round tries again.
      if (!isRetryableLockError(error)) throw error;
    } finally {
      await holder.rollback().catch(() => {});
      holder.release();
    }
    await sleep(20);
  }
}

/** ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK, ER_NO_SUCH_THREAD. */
const isRetryableLockError = (error: unknown): boolean =>
  error instanceof Error && 'errno' in error && [1205, 1213, 1094].includes(Number(error.errno));
