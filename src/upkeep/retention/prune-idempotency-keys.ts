import type { Sql, WriteResult } from '../../database/transaction.ts';
import type { Steps } from './steps.ts';

/** Index: idempotency_keys_created. */
const PRUNE = 'DELETE FROM idempotency_keys WHERE created_at < NOW(6) - INTERVAL 24 HOUR LIMIT ?';

/** Deletes the stored responses that are older than 24 h, in steps. @returns how many. */
export async function pruneIdempotencyKeys(sql: Sql, steps: Steps): Promise<number> {
  let removed = 0;
  await steps.repeat(async (rows) => {
    const { affectedRows } = await sql.query<WriteResult>(PRUNE, [rows]);
    removed += affectedRows;
    return affectedRows === rows;
  });
  return removed;
}
