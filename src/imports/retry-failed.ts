import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../platform/database/transaction.ts';

/**
 * Which accounts the import's rows may have depends on the API key that sent it. Deleting a key takes the same lock, so a key that
 * is found here stays until the import is queued, and from then on it cannot be deleted. An import that a source has collected has no
 * key. Indexes: the primary keys.
 */
const LOCK_KEY = `
  SELECT id FROM api_keys WHERE id = (SELECT api_key_id FROM imports WHERE id = ?) LOCK IN SHARE MODE`;

/** Index: the primary keys. Every staged import has a part 0, even if its body is empty. */
const LOCK_IMPORT = `
  SELECT status, source_id, EXISTS (SELECT 1 FROM import_parts p WHERE p.import_id = i.id AND p.seq = 0) AS kept
  FROM imports i WHERE i.id = ? FOR UPDATE`;

/** The checkpoint and the counts stay: the import continues after the rows that are stored. */
const QUEUE = `
  UPDATE imports SET status = 'queued', crash_count = 0, error = NULL, finished_at = NULL, retried_at = NOW(6) WHERE id = ?`;

/** What became of a request to retry an import. Only in the case of `queued` has anything changed. */
export type ImportRetry =
  | { outcome: 'queued' }
  | { outcome: 'not failed'; status: string }
  | { outcome: 'api key deleted' }
  | { outcome: 'body deleted' };

/**
 * Queues a failed import again. It continues at its checkpoint, and may crash ten more times before it is quarantined again. The
 * caller adds the job.
 * @param record runs in the same transaction, if the import is queued.
 */
export function retryFailedImport(
  database: DataSource,
  importId: string,
  record: (sql: Sql) => Promise<void>,
): Promise<ImportRetry> {
  return inTransaction(database, async (sql) => {
    const result = await retry(sql, importId);
    if (result.outcome === 'queued') await record(sql);
    return result;
  });
}

async function retry(sql: Sql, importId: string): Promise<ImportRetry> {
  const [key] = await sql.query<unknown[]>(LOCK_KEY, [importId]);
  const [found] = await sql.query<{ status: string; source_id: string | null; kept: number | string }[]>(
    LOCK_IMPORT,
    [importId],
  );
  if (found?.status !== 'failed') return { outcome: 'not failed', status: found?.status ?? 'deleted' };
  if (key === undefined && found.source_id === null) return { outcome: 'api key deleted' };
  if (Number(found.kept) === 0) return { outcome: 'body deleted' };
  await sql.query<WriteResult>(QUEUE, [importId]);
  return { outcome: 'queued' };
}
