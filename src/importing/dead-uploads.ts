import type { DataSource } from 'typeorm';
import { inTransaction, type WriteResult } from '../database/transaction.ts';

/** How often an upload in progress renews its import's `received_at`, in milliseconds. */
export const HEARTBEAT_EVERY = 3_000;

/**
 * An upload without a heartbeat for five times as long has lost its process. It was not answered 202, so it can be dropped. Both
 * times are from MySQL's clock.
 */
export const UPLOAD_IS_DEAD = `(status = 'receiving' AND received_at < NOW(6) - INTERVAL 15 SECOND)`;

const FIND = `SELECT id FROM imports WHERE ${UPLOAD_IS_DEAD} ORDER BY id LIMIT 1000`;
/** Checks again under the row lock, because the heartbeat may have been renewed since FIND. */
const DROP = `DELETE FROM imports WHERE id = ? AND ${UPLOAD_IS_DEAD}`;

/** Drops an upload with its parts, and frees its Idempotency-Key. @returns false when it is not dead or no longer exists. */
export function dropUpload(database: DataSource, importId: string): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    const { affectedRows } = await sql.query<WriteResult>(DROP, [importId]);
    return affectedRows === 1;
  });
}

/**
 * Drops dead uploads, at most 1,000 per call. They are found without a lock and dropped one by one, so that uploads in progress
 * do not wait.
 * @returns the number of dropped uploads.
 */
export async function dropDeadUploads(database: DataSource): Promise<number> {
  let dropped = 0;
  for (const { id } of await database.query<{ id: string }[]>(FIND)) {
    if (await dropUpload(database, id)) dropped += 1;
  }
  return dropped;
}
