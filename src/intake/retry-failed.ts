import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { Problem } from '../platform/problem.ts';
import { queueImports } from '../platform/queues.ts';
import { findImport, type ImportRow } from './find-imports.ts';

/**
 * Locks the API key of an import, which decides the accounts that its rows may have. Deleting a key takes the same lock, so a key
 * found here stays until the import is queued. From then on the key cannot be deleted. An import that a source has collected has no
 * key. Indexes: the primary keys.
 */
const LOCK_KEY = `
  SELECT id FROM api_keys WHERE id = (SELECT api_key_id FROM imports WHERE id = ?) LOCK IN SHARE MODE`;

/** Index: the primary keys. Every staged import has a part 0, even if its body is empty. */
const LOCK_IMPORT = `
  SELECT status, source_id, EXISTS (SELECT 1 FROM import_parts p WHERE p.import_id = i.id AND p.seq = 0) AS kept
  FROM imports i WHERE i.id = ? FOR UPDATE`;

/** Keeps the checkpoint and the counts, so that the import continues after its stored rows. */
const QUEUE = `
  UPDATE imports SET status = 'queued', crash_count = 0, error = NULL, started_at = NULL, finished_at = NULL, retried_at = NOW(6) WHERE id = ?`;

/**
 * Queues a failed import again. It continues at its checkpoint, and may crash ten more times before it is quarantined again.
 * @throws {Problem} 404; 409 for an import that has not failed, or whose API key or body was deleted.
 */
export async function retryImport(
  { database, queues, log }: Pick<Runtime, 'database' | 'queues' | 'log'>,
  caller: Caller,
  importId: string,
): Promise<ImportRow> {
  const { id } = await findImport(database, caller, importId);
  await inTransaction(database, async (sql) => {
    await requeue(sql, id);
    await recordChange(sql, caller, { action: 'retry', subject: `import ${id}` });
  });
  // Redis may be unreachable. The reconciler then queues the import within 10 s.
  await queueImports(queues, [caller.customerId]).catch((err: unknown) =>
    log.warn({ err, importId: id }, 'import not queued yet'),
  );
  return findImport(database, caller, id);
}

/** @throws {Problem} 409, unless the import could be queued. */
async function requeue(sql: Sql, importId: string): Promise<void> {
  const [key] = await sql.query<unknown[]>(LOCK_KEY, [importId]);
  const [found] = await sql.query<{ status: string; source_id: string | null; kept: number | string }[]>(
    LOCK_IMPORT,
    [importId],
  );
  if (found?.status !== 'failed')
    throw new Problem(
      'import-not-failed',
      `Only a failed import can be retried, but this import is ${found?.status ?? 'deleted'}.`,
    );
  if (key === undefined && found.source_id === null)
    throw new Problem(
      'import-not-retryable',
      'The API key that sent this import was deleted. Send the file again with another key.',
    );
  if (Number(found.kept) === 0)
    throw new Problem('import-not-retryable', 'The body of this import was deleted. Send the file again.');
  await sql.query<WriteResult>(QUEUE, [importId]);
}
