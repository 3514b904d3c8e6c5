import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../platform/database/transaction.ts';
import type { ValidationIssue } from '../platform/validation.ts';
import { reportConflicts } from './conflicts.ts';
import { type AddedEntry, storeDetails } from './details.ts';
import type { IdentifyEntries, StatementEntry } from './identify-entries.ts';
import { lockCustomers } from './import-locks.ts';
import type { Matcher } from './matching.ts';
import type { Movement } from './movement.ts';
import type { EndedStatement } from './rows.ts';
import { storeStatements } from './statements.ts';
import {
  type Batch,
  countRows,
  type KnownRow,
  listKnown,
  NOTHING_STORED,
  type RowCounts,
  type Stored,
  storeBatches,
  updateAccounts,
} from './store.ts';

/** Stores the chunks of a staged import. */

/** Consecutive rows of a staged import that are stored in one transaction. */
export interface Chunk extends Batch {
  /** Number of the import's rows before this chunk (`from`), and including it (`to`). */
  from: number;
  to: number;
  /** No chunk follows: the import is done when this one is stored. */
  last: boolean;
  /** Rows of a statement. Whether they are stored already is only known when the customer is locked. */
  entries: readonly StatementEntry[];
  issues: readonly (ValidationIssue & { line: number })[];
  /** The warnings to list. `warned` counts all. */
  warnings: readonly { line: number; message: string }[];
  warned: number;
  rejected: number;
  /** Statements that begin in this chunk. */
  statements: number;
  /** Statements that end in this chunk. */
  ended: readonly (EndedStatement & { line: number })[];
  /** The format of the first of them; null: none begins here. */
  format: string | null;
  /** The rows were checked against it; see RemovedTime. */
  removals: number;
}

export interface StoreOptions {
  database: DataSource;
  matcher: Matcher;
  /** Identifies the entries of this import's statements, in all its chunks. */
  identify: IdentifyEntries;
  /** Most rows of the chunk before were known, as in a file that was sent again. */
  areKnown?: boolean;
}

/** Another worker has moved the checkpoint: this worker has lost the lock on its job, and must stop. */
export class ImportTakenOverError extends Error {
  override name = 'ImportTakenOverError';
}

/** An account is being deleted, or movements have been removed, since the rows were checked: they have to be checked again. */
export class RemovalsChangedError extends Error {
  override name = 'RemovalsChangedError';
}

/** An import stays `queued` until its first chunk is stored. */
const MOVE_CHECKPOINT = `
  UPDATE imports SET checkpoint = ?, crash_count = 0, inserted = inserted + ?, duplicates = duplicates + ?, changed = changed + ?,
    assumed_duplicates = assumed_duplicates + ?, conflicts = conflicts + ?, rejected = rejected + ?, deliveries = deliveries + ?, statements = statements + ?, warnings = warnings + ?, detected_format = COALESCE(detected_format, ?),
    started_at = COALESCE(started_at, NOW(6) - INTERVAL ? MICROSECOND),
    status = IF(?, 'done', 'running'), received = IF(status = 'done', checkpoint, received),
    finished_at = IF(status = 'done', NOW(6), NULL)
  WHERE id = ? AND checkpoint = ? AND status IN ('queued', 'running')`;

const DROP_PARTS = 'DELETE FROM import_parts WHERE import_id = ?';

const INSERT_ISSUES = `
  INSERT INTO import_errors (import_id, severity, line, path, message) VALUES ? ON DUPLICATE KEY UPDATE line = VALUES(line)`;

/**
 * Stores a chunk of a staged import in one transaction. With the last chunk it also deletes the staged parts. Repeating a chunk
 * after a crash is harmless: either the checkpoint has moved, or nothing was stored.
 * @param runningFor milliseconds since the run started, for the import's `started_at`.
 * @returns what was stored, with the webhooks to wake.
 * @throws {ImportTakenOverError} when the checkpoint is not where this chunk begins.
 * @throws {RemovalsChangedError} when the rows have to be checked again. Nothing was stored.
 */
export function storeChunk(
  { database, ...options }: StoreOptions,
  chunk: Chunk,
  runningFor = 0,
): Promise<Stored> {
  const { importId, issues, warnings, last } = chunk;
  return inTransaction(database, async (sql) => {
    const { added, newest, ...stored } = await storeMovements(sql, options, chunk);
    const rows = [
      ...issues.map(({ line, path, message }) => [
        importId,
        'error',
        line,
        path.slice(0, 100),
        message.slice(0, 500),
      ]),
      ...warnings.map(({ line, message }) => [importId, 'warning', line, '', message.slice(0, 500)]),
    ];
    if (rows.length > 0) await sql.query(INSERT_ISSUES, [rows]);
    await listKnown(sql, stored.known);
    const statementIds = await storeStatements(sql, chunk);
    await storeDetails(sql, { customerId: chunk.customerId, newest, entries: added }, statementIds);
    await moveCheckpoint(sql, chunk, stored, runningFor);
    if (last) await sql.query(DROP_PARTS, [importId]);
    await reportConflicts(sql, chunk, stored.known);
    return stored;
  });
}

async function storeMovements(
  sql: Sql,
  { matcher, identify, areKnown = false }: Omit<StoreOptions, 'database'>,
  chunk: Chunk,
): Promise<Stored & { added: readonly AddedEntry[]; newest: string }> {
  const { customerId, importId, movements, entries, removals } = chunk;
  if (movements.length + entries.length === 0) return { ...NOTHING_STORED, added: [], newest: '0' };
  const locks = await lockCustomers(sql, [customerId]);
  const lock = locks.get(customerId);
  if (lock?.removals !== removals) throw new RemovalsChangedError('removals have changed');
  const identities = await identify(sql, lock.newest, entries);
  const fresh: AddedEntry[] = [];
  const known: (KnownRow & { movement: Movement })[] = [];
  for (const [index, entry] of entries.entries()) {
    const { line, movement } = entry;
    const identity = identities[index];
    if (identity === undefined) throw new Error('an entry was not identified');
    if ('uniqueId' in identity) fresh.push({ ...entry, uniqueId: identity.uniqueId });
    else known.push({ importId, line, ...identity, isHeld: false, movement });
  }
  if (known.length > 0)
    await updateAccounts(
      sql,
      known.map(({ movement }) => movement),
      [],
    );
  const batch = { customerId, importId, movements: [...movements, ...fresh] };
  const stored = await storeBatches(sql, matcher, locks, [batch], { areKnown });
  return { ...stored, known: [...known, ...stored.known], added: fresh, newest: lock.newest };
}

async function moveCheckpoint(sql: Sql, chunk: Chunk, stored: Stored, runningFor: number): Promise<void> {
  const { importId, from, to, last, rejected, statements, warned, format } = chunk;
  const rows = countChunk(chunk, stored);
  const { affectedRows } = await sql.query<WriteResult>(MOVE_CHECKPOINT, [
    to,
    rows.inserted,
    rows.duplicates,
    rows.changed,
    rows.assumed,
    rows.conflicts,
    rejected,
    stored.deliveries.get(importId) ?? 0,
    statements,
    warned,
    format,
    Math.round(runningFor * 1_000),
    last,
    importId,
    from,
  ]);
  if (affectedRows !== 1) throw new ImportTakenOverError(`import ${importId} is being worked on elsewhere`);
}

/** Counts the rows of a chunk that was stored. */
export const countChunk = ({ importId, movements, entries }: Chunk, stored: Stored): RowCounts =>
  countRows(importId, movements.length + entries.length, stored);

/** Leaves out an account or a source that has just been deleted: its foreign key would end the import. */
const ADD = 'INSERT IGNORE INTO source_accounts (source_id, account_id) VALUES ?';

/**
 * Creates a function that notes the accounts of a chunk as accounts of the source that has collected it, so that they can show how the
 * source's runs end.
 * @param sourceId null: the import was sent with an API key, and nothing is noted.
 */
export function createSourceAccounts(
  sql: Sql,
  sourceId: string | null,
): (chunk: Pick<Chunk, 'movements' | 'entries'>) => Promise<void> {
  const noted = new Set<string>();
  return async ({ movements, entries }) => {
    if (sourceId === null) return;
    const found = [...movements, ...entries].map(({ movement }) => movement.account_id);
    const added = [...new Set(found)].filter((id) => !noted.has(id));
    if (added.length === 0) return;
    await sql.query(ADD, [added.map((id) => [sourceId, id])]);
    for (const id of added) noted.add(id);
  };
}
