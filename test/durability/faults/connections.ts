import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import type { Dice } from '../dice.ts';

const OPEN_TRANSACTIONS = `
  SELECT trx_mysql_thread_id AS id FROM information_schema.innodb_trx
  WHERE trx_mysql_thread_id NOT IN (0, CONNECTION_ID())`;

/**
 * For so many seconds kills connections that are inside a transaction, about every second one found.
 * @returns how many.
 */
export async function killConnections(sql: Pool, seconds: number, dice: Dice): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let killed = 0;
  while (performance.now() < end) {
    const [rows] = await sql.query<(RowDataPacket & { id: number })[]>(OPEN_TRANSACTIONS);
    for (const { id } of rows) {
      if (dice.whole(0, 1) === 0) continue;
      killed += await sql.query(`KILL ${id}`).then(
        () => 1,
        () => 0, // It has ended meanwhile.
      );
    }
    await sleep(killed > 40 ? 200 : 3);
  }
  return killed;
}

const BALLAST = [
  'CREATE DATABASE IF NOT EXISTS chaos',
  'CREATE TABLE IF NOT EXISTS chaos.ballast (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT) ENGINE=InnoDB',
];

/** InnoDB rolls back the transaction that has changed less: after this it is not ours. */
const LOAD_BALLAST = `INSERT INTO chaos.ballast (n)
  SELECT 1 FROM information_schema.columns a LIMIT 1500`;

const WAITING = `SELECT COUNT(*) AS n FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'`;

/**
 * For so many seconds takes locks that the product takes too, in the opposite order, with a transaction heavier than any of
 * the product's.
 * @returns how many deadlocks that made, in which the product's transaction was the one rolled back.
 */
export async function makeDeadlocks(
  sql: Pool,
  of: 'import' | 'delivery',
  { seconds, webhookIds }: { seconds: number; webhookIds: readonly string[] },
): Promise<number> {
  for (const statement of BALLAST) await sql.query(statement);
  const end = performance.now() + seconds * 1_000;
  let made = 0;
  // Three in a row for one piece of work are within what is retried at once; more are left to the queue.
  while (performance.now() < end && made < 3) {
    const connection = await sql.getConnection();
    try {
      if (await makeDeadlock(connection, of, webhookIds, end)) made += 1;
      await connection.rollback();
      connection.release();
    } catch {
      connection.destroy(); // We were the victim, or MySQL has gone.
    }
    await sleep(100);
  }
  return made;
}

async function makeDeadlock(
  connection: PoolConnection,
  of: 'import' | 'delivery',
  webhookIds: readonly string[],
  end: number,
): Promise<boolean> {
  await connection.beginTransaction();
  await connection.query(LOAD_BALLAST);
  // A chunk locks import_locks, then accounts; a batch of results locks pumps, then deliveries.
  const [held] = await connection.query(
    of === 'import'
      ? 'SELECT id FROM accounts FOR UPDATE'
      : `SELECT id FROM deliveries FORCE INDEX (deliveries_due)
         WHERE webhook_id IN (${webhookIds.join()}) AND status = 'pending' LIMIT 2000 FOR UPDATE`,
  );
  if (Array.isArray(held) && held.length === 0) return false; // All is delivered: there is nothing to wait for.
  for (;;) {
    const [[row]] = await connection.query<(RowDataPacket & { n: number })[]>(WAITING);
    if (Number(row?.n ?? 0) > 0) break;
    if (performance.now() > end) return false;
    await sleep(10);
  }
  await connection.query(`SELECT * FROM ${of === 'import' ? 'import_locks' : 'pumps'} FOR UPDATE`);
  return true;
}
