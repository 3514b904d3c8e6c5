import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { type ClaimedSource, LEASE } from './claimed-source.ts';

/** The files of sources: which files are known, and whose imports have ended. */

/** The source has another run now, or none. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** Tells whether a file was collected before. */
export const fingerprintOf = (
  { revision }: Pick<ClaimedSource, 'revision'>,
  { name, version }: { name: string; version: string },
): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([revision, name, version]))
    .digest();

/** Index: source_files_fingerprint. */
const KNOWN = 'SELECT 1 FROM source_files WHERE source_id = ? AND fingerprint = ?';

/** Says whether a file was collected before with the same settings. */
export async function isKnown(
  sql: Sql,
  source: ClaimedSource,
  file: { name: string; version: string },
): Promise<boolean> {
  return (await sql.query<unknown[]>(KNOWN, [source.id, fingerprintOf(source, file)])).length > 0;
}

const ADD_FILE = `
  INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version, import_id, outcome) VALUES (?)`;
const COUNT_FILE = 'UPDATE source_runs SET files = files + 1 WHERE id = ?';
/** Also renews the lease, so that the row changes even if the position stays the same. */
const MOVE_POSITION = `
  UPDATE sources SET position = ?, lease_until = ${LEASE} WHERE id = ? AND run_id = ?`;

/**
 * Records a file that is staged, so that no later run collects it again.
 * @param file.importId null: the file was refused and has failed.
 * @throws {LeaseLostError} when the source has another run now, or none. Then nothing is recorded.
 */
export function recordFile(
  database: DataSource,
  source: ClaimedSource,
  file: { name: string; version: string; cursor?: string | undefined; importId: string | null },
): Promise<void> {
  const { name, version, cursor, importId } = file;
  const fingerprint = fingerprintOf(source, file);
  const outcome = importId === null ? 'failed' : 'pending';
  return inTransaction(database, async (sql) => {
    const { affectedRows } = await sql.query<WriteResult>(MOVE_POSITION, [
      cursor ?? version,
      source.id,
      source.runId,
    ]);
    if (affectedRows !== 1) throw new LeaseLostError('another run has the source');
    const shown = name.slice(0, 1_024);
    const values = [
      source.id,
      source.customerId,
      source.runId,
      fingerprint,
      shown,
      version,
      importId,
      outcome,
    ];
    await sql.query(ADD_FILE, [values]);
    await sql.query(COUNT_FILE, [source.runId]);
  });
}

/** A file whose import has ended, but that is not marked yet. */
export interface EndedFile {
  id: string;
  name: string;
  version: string;
  import_id: string;
  status: 'done' | 'failed';
  error: string | null;
  received: number | null;
  rejected: number;
}

/**
 * Looks only at the oldest pending files, because the imports of a customer end in the order in which they came. Otherwise, each look
 * would read all files that wait for their imports. Indexes: source_files_outcome, and the primary keys.
 */
const ENDED = `
  FROM (
    SELECT id, import_id FROM source_files FORCE INDEX (source_files_outcome)
    WHERE outcome = 'pending' AND source_id = ? ORDER BY id LIMIT 100) o
  STRAIGHT_JOIN imports i FORCE INDEX (PRIMARY) ON i.id = o.import_id
  STRAIGHT_JOIN source_files f FORCE INDEX (PRIMARY) ON f.id = o.id
  WHERE i.status IN ('done', 'failed')`;

/** Reads at most 100 files whose imports have ended, in the order in which they were collected. */
export const findEndedFiles = (sql: Sql, sourceId: string): Promise<EndedFile[]> =>
  sql.query(
    `SELECT f.id, f.name, f.version, f.import_id, i.status, i.error, i.received, i.rejected ${ENDED} ORDER BY f.id`,
    [sourceId],
  );

/** Says whether a source has files that can be marked. */
export async function hasEndedFiles(sql: Sql, sourceId: string): Promise<boolean> {
  return (await sql.query<unknown[]>(`SELECT 1 ${ENDED} LIMIT 1`, [sourceId])).length > 0;
}

/** Index: source_files_outcome. */
const PENDING = `SELECT 1 FROM source_files WHERE outcome = 'pending' AND source_id = ? LIMIT 1`;

/** Says whether a source has files whose imports have not ended, or that are not marked. */
export async function hasPendingFiles(sql: Sql, sourceId: string): Promise<boolean> {
  return (await sql.query<unknown[]>(PENDING, [sourceId])).length > 0;
}

const SET_OUTCOME = 'UPDATE source_files SET outcome = ? WHERE id = ?';

export async function setOutcome(sql: Sql, fileId: string, outcome: 'done' | 'failed'): Promise<void> {
  await sql.query(SET_OUTCOME, [outcome, fileId]);
}

/** Index: the primary key. */
const REASONS = `
  SELECT line, path, message FROM import_errors WHERE import_id = ? AND severity = 'error' ORDER BY line, path LIMIT ?`;

/** Reads the first reasons why rows of an import were rejected. */
export const findReasons = (
  sql: Sql,
  importId: string,
  limit: number,
): Promise<{ line: number; path: string; message: string }[]> => sql.query(REASONS, [importId, limit]);
