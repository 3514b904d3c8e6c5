import type { DataSource } from 'typeorm';
import { inTransaction } from '../../database/transaction.ts';
import { deleteRows, type Steps } from './steps.ts';

/**
 * Removes deleted sources, with their runs and files. The rows of a source's files stay until the source is deleted, because a file
 * without its row would be collected again.
 */

/** There are few sources, so the table is read as a whole. */
const FIND_DELETED_SOURCES = `
  SELECT id FROM sources WHERE status = 'deleted' AND COALESCE(last_run_at, created_at) < ? ORDER BY id`;

/** Indexes: source_files_fingerprint, and the primary key of imports. */
const HAS_IMPORTS = `
  SELECT 1 FROM source_files f FORCE INDEX (source_files_fingerprint) JOIN imports i ON i.id = f.import_id
  WHERE f.source_id = ? LIMIT 1`;

/** Indexes: source_files_fingerprint, the primary key, and source_runs_page. */
const DELETE_COLLECTED = ['source_files', 'source_accounts', 'source_runs'].map(
  (table) => `DELETE FROM ${table} WHERE source_id = ? LIMIT ?`,
);

/** Index: the primary key. */
const DELETE_SOURCE = "DELETE FROM sources WHERE id = ? AND status = 'deleted'";

/**
 * Removes deleted sources whose last run began before a moment and whose imports are all removed.
 * @returns how many sources were removed.
 */
export async function removeSources(database: DataSource, steps: Steps, before: Date): Promise<number> {
  const deleted = await database.query<{ id: string }[]>(FIND_DELETED_SOURCES, [before]);
  let removed = 0;
  for (const { id } of deleted) {
    const imports = await database.query<unknown[]>(HAS_IMPORTS, [id]);
    if (imports.length > 0) continue;
    if (!(await removeCollected(database, steps, id))) break;
    await inTransaction(database, (sql) => sql.query(DELETE_SOURCE, [id]));
    removed += 1;
  }
  return removed;
}

/**
 * Removes the files, accounts and runs of a deleted source.
 * @returns false if the work was stopped early.
 */
export async function removeCollected(
  database: DataSource,
  steps: Steps,
  sourceId: string,
): Promise<boolean> {
  for (const statement of DELETE_COLLECTED)
    if (!(await deleteRows(database, steps, statement, [sourceId])).isWhole) return false;
  return true;
}
