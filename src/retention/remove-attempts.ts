import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../database/transaction.ts';
import type { Steps } from './steps.ts';

/** Removes old attempts. Nothing but the log of a delivery reads them. */

/** Index: the primary key. */
const READ = `
  SELECT transaction_id FROM attempts FORCE INDEX (PRIMARY)
  WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ? ORDER BY transaction_id, number LIMIT ?`;

/** Index: the primary key. */
const DELETE = `
  DELETE FROM attempts WHERE webhook_id = ? AND transaction_id > ? AND transaction_id <= ? AND started_at < ?`;

/**
 * Removes the attempts of a webhook's deliveries that began before a moment, of the movements up to `through`.
 * @returns how many were removed.
 */
export async function removeAttempts(
  database: DataSource,
  steps: Steps,
  { webhookId, through, before }: { webhookId: string; through: bigint; before: Date },
): Promise<number> {
  let removed = 0;
  let after = '0';
  await steps.repeat(async (rows) => {
    const found = await database.query<{ transaction_id: string }[]>(READ, [
      webhookId,
      after,
      String(through),
      rows,
    ]);
    const last = found.at(-1)?.transaction_id;
    if (last === undefined) return false;
    const values = [webhookId, after, last, before];
    const { affectedRows } = await inTransaction(database, (sql) => sql.query<WriteResult>(DELETE, values));
    removed += affectedRows;
    after = last;
    return found.length === rows;
  });
  return removed;
}
