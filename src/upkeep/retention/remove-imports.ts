import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { repeatInOrder, type Steps } from './steps.ts';

/** Removes old imports that have ended, with their errors and with the bodies of failed ones. */

/** How many parts of a body are removed per step. Each part has up to 1 MiB. */
const PARTS = 16;

/** Reads imports in the order of their ids, the oldest first. Index: the primary key. */
const READ_IMPORTS = `
  SELECT id, source_id, received_at, finished_at, status IN ('done', 'failed') AS has_ended FROM imports FORCE INDEX (PRIMARY)
  WHERE id > ? ORDER BY id LIMIT ?`;

/**
 * Imports whose file is not marked in its source yet, for example because the source is paused. Marking needs the import's status. Index:
 * source_files_outcome.
 */
const FIND_UNMARKED_IMPORTS = `
  SELECT f.import_id AS id FROM source_files f FORCE INDEX (source_files_outcome) JOIN sources s ON s.id = f.source_id
  WHERE f.outcome = 'pending' AND f.source_id IN (?) AND f.import_id IN (?) AND s.status <> 'deleted'`;

/** Indexes: the primary keys of the two tables begin with the import's id. */
const FIND_IMPORTS_WITH_DETAILS = `
  SELECT DISTINCT import_id FROM import_parts FORCE INDEX (PRIMARY) WHERE import_id IN (?)
  UNION SELECT DISTINCT import_id FROM import_errors FORCE INDEX (PRIMARY) WHERE import_id IN (?)`;

/** A request to retry a failed import takes the same lock. It is refused once the first part of the body is gone. */
const LOCK_IMPORT = 'SELECT id FROM imports WHERE id = ? FOR UPDATE';
const LOCK_ENDED_IMPORTS = `SELECT id FROM imports FORCE INDEX (PRIMARY) WHERE id IN (?) AND status IN ('done', 'failed') FOR UPDATE`;

const DELETE_PARTS = `DELETE FROM import_parts WHERE import_id = ? ORDER BY seq LIMIT ${PARTS}`;
const DELETE_ERRORS = 'DELETE FROM import_errors WHERE import_id = ? LIMIT ?';
const DELETE_IMPORTS = 'DELETE i FROM imports i FORCE INDEX (PRIMARY) WHERE i.id IN (?)';

interface OldImport {
  id: string;
  source_id: string | null;
  received_at: Date;
  finished_at: Date | null;
  has_ended: number | string;
}

/**
 * Removes imports that ended before a moment.
 * @returns how many imports were removed.
 */
export const removeImports = (database: DataSource, steps: Steps, before: Date): Promise<number> =>
  repeatInOrder(steps, async (after, rows) => {
    const imports = await database.query<OldImport[]>(READ_IMPORTS, [after, rows]);
    const last = imports.at(-1);
    if (last === undefined) return { count: 0, last: null };
    const old = imports.filter(
      ({ finished_at, has_ended }) => Number(has_ended) === 1 && finished_at !== null && finished_at < before,
    );
    const unmarked = await findUnmarked(database, old);
    const ids = old.map(({ id }) => id).filter((id) => !unmarked.has(id));
    const count = ids.length > 0 ? await removeEnded(database, steps, ids) : 0;
    // Ids grow with the time of receipt, so no later import is old.
    const areMore = imports.length === rows && imports.some(({ received_at }) => received_at < before);
    return { count, last: areMore ? last.id : null };
  });

async function findUnmarked(sql: Sql, imports: readonly OldImport[]): Promise<Set<string>> {
  const collected = imports.filter(({ source_id }) => source_id !== null);
  if (collected.length === 0) return new Set();
  const sources = [...new Set(collected.map(({ source_id }) => source_id))];
  const values = [sources, collected.map(({ id }) => id)];
  return new Set((await sql.query<{ id: string }[]>(FIND_UNMARKED_IMPORTS, values)).map(({ id }) => id));
}

async function removeEnded(database: DataSource, steps: Steps, ids: readonly string[]): Promise<number> {
  const detailed = await database.query<{ import_id: string }[]>(FIND_IMPORTS_WITH_DETAILS, [ids, ids]);
  for (const { import_id } of detailed) {
    if (!(await removeDetails(database, steps, import_id, 'ended'))) return 0;
  }
  return inTransaction(database, async (sql) => {
    const ended = await sql.query<{ id: string }[]>(LOCK_ENDED_IMPORTS, [ids]);
    if (ended.length === 0) return 0;
    const { affectedRows } = await sql.query<WriteResult>(DELETE_IMPORTS, [ended.map(({ id }) => id)]);
    return affectedRows;
  });
}

/**
 * Removes the body and the errors of an import. A failed import without its body cannot be retried.
 * @param which ended: removes nothing if the import is queued again.
 * @returns false if the work was stopped early.
 */
export async function removeDetails(
  database: DataSource,
  steps: Steps,
  importId: string,
  which: 'ended' | 'any',
): Promise<boolean> {
  const deleteSome = (statement: string, values: unknown[]) =>
    inTransaction(database, async (sql) => {
      const found = await sql.query<unknown[]>(which === 'any' ? LOCK_IMPORT : LOCK_ENDED_IMPORTS, [
        importId,
      ]);
      if (found.length === 0) return 0;
      return (await sql.query<WriteResult>(statement, values)).affectedRows;
    });
  return (
    (await steps.repeat(async () => (await deleteSome(DELETE_PARTS, [importId])) === PARTS)) &&
    (await steps.repeat(async (rows) => (await deleteSome(DELETE_ERRORS, [importId, rows])) === rows))
  );
}
