import type { Sql, WriteResult } from '../../platform/database/transaction.ts';

/** Index: idempotency_keys_created. */
const PRUNE = 'DELETE FROM idempotency_keys WHERE created_at < NOW(6) - INTERVAL 24 HOUR LIMIT 1000';

/** Deletes at most 1,000 stored responses that are older than 24 h. */
export async function pruneIdempotencyKeys(sql: Sql): Promise<number> {
  const { affectedRows } = await sql.query<WriteResult>(PRUNE);
  return affectedRows;
}
