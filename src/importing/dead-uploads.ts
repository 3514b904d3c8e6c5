import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../database/transaction.ts';

/** How often an upload under way renews its import's `received_at`, milliseconds. */
export const HEARTBEAT_EVERY = 3_000;

/**
 * An upload without a heartbeat for five times as long has lost its process. Nobody was told that it was accepted. Both
 * moments are MySQL's.
 */
export const UPLOAD_IS_DEAD = `(status = 'receiving' AND received_at < NOW(6) - INTERVAL 15 SECOND)`;

const FIND = `SELECT id FROM imports WHERE ${UPLOAD_IS_DEAD} ORDER BY id LIMIT 1000`;
/** Looked at again under the lock: it may have been renewed since it was found. */
const DROP = `DELETE FROM imports WHERE id = ? AND ${UPLOAD_IS_DEAD}`;

/** Drops an upload with its parts, and frees its Idempotency-Key. @returns false when it is not dead, or gone already. */
export function dropUpload(database: DataSource, importId: string): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    const { affectedRows } = await sql.query<WriteResult>(DROP, [importId]);
    return affectedRows === 1;
  });
}

/**
 * Drops every dead upload. Found without a lock and dropped one by one, so that no upload under way waits.
 * @returns how many.
 */
export async function dropDeadUploads(database: DataSource): Promise<number> {
  let dropped = 0;
  for (const { id } of await database.query<{ id: string }[]>(FIND)) {
    if (await dropUpload(database, id)) dropped += 1;
  }
  return dropped;
}
