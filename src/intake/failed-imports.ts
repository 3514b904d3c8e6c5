import type { DataSource } from 'typeorm';
import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { cutTo } from '../database/text-columns.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { recordEvent } from '../delivery/operational-event.ts';
import { Problem } from '../platform/problem.ts';
import { queueImports } from '../platform/queues.ts';
import { findImport, type ImportRow } from './imports.ts';

/**
 * Ends imports as failed, and reports the failure in the same transaction. Keeps their staged parts, so that they can be queued again.
 */

/** An import fails after this many runs in a row that stored no chunk, because its process crashed or the run failed. */
export const MAX_CRASHES = 10;

const GIVE_UP = `
  UPDATE imports SET status = 'failed', finished_at = NOW(6), error = CONCAT('Reading on from row ', checkpoint + 1,
    ' has failed ${MAX_CRASHES} times in a row. Valid rows before it are stored, and what was sent is kept.')
  WHERE id = ? AND status IN ('queued', 'running')`;

const FAIL = `
  UPDATE imports SET status = 'failed', started_at = COALESCE(started_at, NOW(6)), finished_at = NOW(6), received = checkpoint,
    error = CONCAT(?, CASE inserted + duplicates WHEN 0 THEN '' WHEN 1 THEN ' 1 row before that is stored.'
      ELSE CONCAT(' ', inserted + duplicates, ' rows before that are stored.') END)
  WHERE id = ? AND status IN ('queued', 'running')`;

const READ = 'SELECT id, customer_id, source_id, format, checkpoint, error FROM imports WHERE id = ?';

interface FailedImport {
  id: string;
  customer_id: string;
  source_id: string | null;
  format: string;
  checkpoint: number;
  error: string | null;
}

/** Ends an import that keeps failing, or crashing its process, at the same row. */
export const giveUp = (database: DataSource, importId: string): Promise<void> =>
  inTransaction(database, (sql) => fail(sql, importId, GIVE_UP, [importId]));

/** Ends an import whose file cannot be read. @param reason a sentence. */
export const failUnreadable = (database: DataSource, importId: string, reason: string): Promise<void> =>
  inTransaction(database, (sql) => fail(sql, importId, FAIL, [cutTo('imports.error', reason), importId]));

async function fail(sql: Sql, importId: string, update: string, values: unknown[]): Promise<void> {
  const { affectedRows } = await sql.query<WriteResult>(update, values);
  if (affectedRows !== 1) return;
  const [failed] = await sql.query<FailedImport[]>(READ, [importId]);
  if (failed === undefined) return;
  const { id, customer_id, source_id, format, checkpoint, error } = failed;
  await recordEvent(sql, {
    type: 'import.failed',
    customerId: customer_id,
    data: {
      customer_id: Number(customer_id),
      import: {
        id: Number(id),
        format,
        source_id: source_id === null ? null : Number(source_id),
        rows_stored: checkpoint,
        error,
      },
    },
  });
}

/**
 * Locks the API key of an import, which decides the accounts that its rows may have. Deleting a key takes the same lock, so a key
 * found here stays until the import is queued. From then on the key cannot be deleted. An import of a source or an operator has no
 * key. Indexes: the primary keys.
 */
const LOCK_KEY = `
  SELECT id FROM api_keys WHERE id = (SELECT api_key_id FROM imports WHERE id = ?) LOCK IN SHARE MODE`;

/** Index: the primary keys. Every staged import has a part 0, even if its body is empty. */
const LOCK_IMPORT = `
  SELECT status, i.api_key_id, EXISTS (SELECT 1 FROM import_parts p WHERE p.import_id = i.id AND p.seq = 0) AS kept
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
  const queued = await inTransaction(database, async (sql) => {
    await requeue(sql, id);
    await recordChange(sql, caller, { action: 'retry', subject: `import ${id}` });
    // Afterwards, an importer may have begun it.
    return findImport(sql, caller, id);
  });
  // Redis may be unreachable. The reconciler then queues the import within 10 s.
  await queueImports(queues, [caller.customerId]).catch((err: unknown) =>
    log.warn({ err, importId: id }, 'import not queued yet'),
  );
  return queued;
}

/** @throws {Problem} 409, unless the import could be queued. */
async function requeue(sql: Sql, importId: string): Promise<void> {
  const [key] = await sql.query<unknown[]>(LOCK_KEY, [importId]);
  const [found] = await sql.query<{ status: string; api_key_id: string | null; kept: number | string }[]>(
    LOCK_IMPORT,
    [importId],
  );
  if (found?.status !== 'failed')
    throw new Problem(
      'import-not-failed',
      `Only a failed import can be retried, but this import is ${found?.status ?? 'deleted'}.`,
    );
  if (key === undefined && found.api_key_id !== null)
    throw new Problem(
      'import-not-retryable',
      'The API key that sent this import was deleted. Send the file again with another key.',
    );
  if (Number(found.kept) === 0)
    throw new Problem('import-not-retryable', 'The body of this import was deleted. Send the file again.');
  await sql.query<WriteResult>(QUEUE, [importId]);
}
