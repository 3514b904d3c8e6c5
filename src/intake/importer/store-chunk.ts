import type { DataSource } from 'typeorm';
import type { MemberOutcome } from '../../../packages/statements/src/read-files.ts';
import { cutTo } from '../../database/text-columns.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import {
  type Batch,
  fatesOf,
  type ListedRow,
  listRows,
  lockCustomers,
  NOTHING_STORED,
  type Stored,
  storeBatches,
  updateAccounts,
} from '../../ledger/append.ts';
import { reportConflicts } from '../../ledger/conflicts.ts';
import { readStored } from '../../ledger/known-movements.ts';
import type { Matcher } from '../../ledger/matching.ts';
import { ASSUMED_NEW, countRows, knownRow, type RowCounts } from '../../ledger/row-fate.ts';
import type { ValidationIssue } from '../../platform/problem.ts';
import type { IdentifyEntries, Identity, KnownMovement, StatementEntry } from '../known/entry.ts';
import { shortenReference } from '../known/statement-id.ts';
import { storeStatements } from '../statements.ts';
import { type AddedEntry, storeBatchDetails, storeDetails } from './details.ts';
import type { EndedStatement, EntryStatement } from './rows.ts';

/** Stores the chunks of a staged import. */

/** Consecutive rows of a staged import that are stored in one transaction. */
export interface Chunk extends Batch {
  /** Number of the import's rows before this chunk (`from`), and including it (`to`). */
  from: number;
  to: number;
  /** No chunk follows. The import is done when this chunk is stored. */
  last: boolean;
  /** Rows of a statement. Only while the customer is locked is it certain whether they are stored already. */
  entries: readonly StatementEntry[];
  issues: readonly (ValidationIssue & { line: number })[];
  /** The warnings to list. `warned` counts all. contradicts: the id of a stored statement. */
  warnings: readonly { line: number; message: string; contradicts?: string }[];
  warned: number;
  rejected: number;
  /** Statements of the import that begin before this chunk. */
  statementsBefore: number;
  /** Statements that begin in this chunk. */
  statements: number;
  /** Statements that end in this chunk. */
  ended: readonly (EndedStatement & { line: number })[];
  /** The format of the first of them; null: none begins here. */
  format: string | null;
  /** The value against which the rows were checked; see RemovedTime. */
  removals: number;
  /** Of the last chunk: the results of the files of a zip. null: the file is no zip. */
  members: readonly MemberOutcome[] | null;
}

interface StoreOptions {
  database: DataSource;
  matcher: Matcher;
  /** Identifies the entries of this import's statements, in all its chunks. */
  identify: IdentifyEntries;
  /** By how much this import itself has raised the customer's `removals`, by storing the first statements of accounts. */
  raised: { removals: number };
  /** Most rows of the previous chunk were known, as in a file that was sent again. */
  areKnown?: boolean;
}

export interface StoredChunk extends Stored {
  /** How long the customer was locked. Milliseconds. */
  lockedFor: number;
}

/** Another worker has moved the checkpoint: this worker has lost the lock on its job, and must stop. */
export class ImportTakenOverError extends Error {
  override name = 'ImportTakenOverError';
}

/** `removals` has changed since the rows were checked, so they have to be checked again; see RemovedTime. */
export class RemovalsChangedError extends Error {
  override name = 'RemovalsChangedError';
}

/** An import stays `queued` until its first chunk is stored. */
const MOVE_CHECKPOINT = `
  UPDATE imports SET checkpoint = ?, crash_count = 0, inserted = inserted + ?, duplicates = duplicates + ?, changed = changed + ?,
    assumed_duplicates = assumed_duplicates + ?, assumed_new = assumed_new + ?, conflicts = conflicts + ?, rejected = rejected + ?, deliveries = deliveries + ?, statements = statements + ?, warnings = warnings + ?, detected_format = COALESCE(detected_format, ?),
    members = ?, contradicts = COALESCE(?, contradicts),
    started_at = COALESCE(started_at, NOW(6) - INTERVAL ? MICROSECOND),
    status = IF(?, 'done', 'running'), received = IF(status = 'done', checkpoint, received),
    finished_at = IF(status = 'done', NOW(6), NULL),
    first_readed = COALESCE(first_readed, ?), last_readed = COALESCE(?, last_readed)
  WHERE id = ? AND checkpoint = ? AND statements = ? AND status IN ('queued', 'running')`;

const DROP_PARTS = 'DELETE FROM import_parts WHERE import_id = ?';

const INSERT_ISSUES = `
  INSERT INTO import_errors (import_id, severity, line, path, message) VALUES ? ON DUPLICATE KEY UPDATE line = VALUES(line)`;

/**
 * Stores a chunk of a staged import in one transaction. With the last chunk it also deletes the staged parts. Repeating a chunk
 * after a crash is harmless: either the checkpoint has moved, or nothing was stored.
 * @param runningFor milliseconds since the run started, for the import's `started_at`.
 * @returns the result, with the webhooks to wake.
 * @throws {ImportTakenOverError} when the checkpoint is not where this chunk begins.
 * @throws {RemovalsChangedError} when the rows have to be checked again. Nothing was stored.
 */
export async function storeChunk(
  { database, ...options }: StoreOptions,
  chunk: Chunk,
  runningFor = 0,
): Promise<StoredChunk> {
  const { importId, issues, warnings, last } = chunk;
  let raises = false;
  let locked: number | null = null;
  const stored = await inTransaction(database, async (sql) => {
    const { added, repeated, ofBatches, replaced, newest, lockedAt, dateReaded, ...stored } =
      await storeMovements(sql, options, chunk);
    const rows = [
      ...issues.map(({ line, path, message }) => [
        importId,
        'error',
        line,
        cutTo('import_errors.path', path),
        cutTo('import_errors.message', message),
      ]),
      ...warnings.map(({ line, message }) => [
        importId,
        'warning',
        line,
        '',
        cutTo('import_errors.message', message),
      ]),
    ];
    if (rows.length > 0) await sql.query(INSERT_ISSUES, [rows]);
    await listRows(sql, stored.listed);
    const { ids: statementIds, areFirst } = await storeStatements(sql, chunk);
    raises = areFirst;
    locked = lockedAt;
    await storeDetails(sql, { customerId: chunk.customerId, newest, entries: added }, statementIds);
    await storeRepeated(sql, chunk, { repeated, replaced }, statementIds);
    await storeBatchDetails(sql, chunk, ofBatches);
    await moveCheckpoint(sql, chunk, stored, { runningFor, dateReaded });
    if (last) await sql.query(DROP_PARTS, [importId]);
    await reportConflicts(sql, chunk, stored.listed);
    return stored;
  });
  if (raises) options.raised.removals += 1;
  return { ...stored, lockedFor: locked === null ? 0 : performance.now() - locked };
}

/** An entry that is a stored movement, with its balance and reference. */
interface RepeatedEntry {
  entry: StatementEntry;
  transactionId: string;
  balance: string | null;
  reference: string | null;
}

interface StoredRows extends Stored {
  added: readonly AddedEntry[];
  repeated: readonly RepeatedEntry[];
  /** Details of batches that are stored, with the movements of these. */
  ofBatches: readonly Pick<RepeatedEntry, 'entry' | 'transactionId'>[];
  replaced: readonly { statementId: string; transactionId: string }[];
  newest: string;
  /** When the customer was locked; null: nothing had to be stored. */
  lockedAt: number | null;
  /** The date_readed of what was stored; null: nothing had to be stored. */
  dateReaded: string | null;
}

async function storeMovements(
  sql: Sql,
  { matcher, identify, raised, areKnown = false }: Omit<StoreOptions, 'database'>,
  chunk: Chunk,
): Promise<StoredRows> {
  const { customerId, importId, movements, entries, removals } = chunk;
  if (movements.length + entries.length === 0)
    return {
      ...NOTHING_STORED,
      added: [],
      repeated: [],
      ofBatches: [],
      replaced: [],
      newest: '0',
      lockedAt: null,
      dateReaded: null,
    };
  const locks = await lockCustomers(sql, [customerId]);
  const lockedAt = performance.now();
  const lock = locks.get(customerId);
  if (lock?.removals !== removals + raised.removals) throw new RemovalsChangedError('removals have changed');
  const identities = await identify(sql, lock.newest, entries);
  const added: AddedEntry[] = [];
  const assumed: AddedEntry[] = [];
  const replaced: StoredRows['replaced'][number][] = [];
  const found: { entry: StatementEntry; identity: Extract<Identity, { known: unknown }> }[] = [];
  for (const [position, entry] of entries.entries()) {
    const identity = identities[position];
    if (identity === undefined) throw new Error('an entry was not identified');
    if ('known' in identity) {
      found.push({ entry, identity });
      continue;
    }
    const { uniqueId } = identity;
    const addedEntry = { ...entry, uniqueId, isNew: !('conflict' in identity) };
    added.push(addedEntry);
    if ('conflict' in identity) continue;
    const { isAssumed, replaces } = identity;
    if (isAssumed) assumed.push(addedEntry);
    if (replaces !== null) replaced.push(replaces);
  }
  if (found.length > 0)
    await updateAccounts(
      sql,
      found.map(({ entry }) => entry.movement),
      [],
    );
  const batch = { customerId, importId, movements: [...movements, ...added] };
  const stored = await storeBatches(sql, matcher, locks, [batch], { areKnown });

  // Movements of this file get their ids only now.
  const ofFile = found.flatMap(({ entry, identity: { known, rows = [] } }) =>
    [known, ...rows.map((row) => row.known)].flatMap((it) =>
      'uniqueId' in it ? [{ ...entry, uniqueId: it.uniqueId }] : [],
    ),
  );
  const wanted = [...ofFile, ...assumed];
  const findStored = wanted.length === 0 ? () => undefined : await readStored(sql, wanted);
  const listed: ListedRow[] = [];
  const repeated: RepeatedEntry[] = [];
  const ofBatches: StoredRows['ofBatches'][number][] = [];
  const idOf = (entry: StatementEntry, movement: KnownMovement): string => {
    const id =
      'transactionId' in movement
        ? movement.transactionId
        : findStored({ ...entry, uniqueId: movement.uniqueId })?.id;
    if (id === undefined) throw new Error('a movement of the file was not stored');
    return id;
  };
  for (const { entry, identity } of found) {
    const { line, movement, reference } = entry;
    const transactionId = idOf(entry, identity.known);
    listed.push({ ...knownRow(identity.reason), importId, line, transactionId });
    const { rows, isRepeated } = identity;
    if (rows === undefined) {
      if (!isRepeated) repeated.push({ entry, transactionId, balance: movement.balance, reference });
      continue;
    }
    for (const row of rows) repeated.push({ ...row, entry, transactionId: idOf(entry, row.known) });
    if (entry.details.batch !== undefined) ofBatches.push({ entry, transactionId });
  }
  for (const entry of assumed) {
    const transactionId = findStored(entry)?.id;
    if (transactionId !== undefined)
      listed.push({ ...ASSUMED_NEW, importId, line: entry.line, transactionId });
  }
  return {
    ...stored,
    listed: [...listed, ...stored.listed],
    added,
    repeated,
    ofBatches,
    replaced,
    newest: lock.newest,
    lockedAt,
    dateReaded: lock.dateReaded,
  };
}

/** If a statement names a movement twice, keeps the first entry, with the later position. */
const ADD_REPEATED = `
  INSERT INTO repeated_entries (statement_id, transaction_id, account_id, customer_id, import_id, position, date_issue, balance, reference)
  VALUES ? ON DUPLICATE KEY UPDATE position = VALUES(position)`;
const DROP_REPLACED = 'DELETE FROM repeated_entries WHERE (statement_id, transaction_id) IN (?)';

/** Stores which entries of statements are known movements, because the balances of later files are compared with them too. */
async function storeRepeated(
  sql: Sql,
  { customerId, importId }: Chunk,
  { repeated, replaced }: Pick<StoredRows, 'repeated' | 'replaced'>,
  statementIds: ReadonlyMap<EntryStatement, string>,
): Promise<void> {
  if (replaced.length > 0)
    await sql.query(DROP_REPLACED, [
      replaced.map(({ statementId, transactionId }) => [statementId, transactionId]),
    ]);
  const rows = repeated.flatMap(({ entry, transactionId, balance, reference }) => {
    const { movement, statement, index } = entry;
    const statementId = statementIds.get(statement);
    if (statementId === undefined) return [];
    const { account_id, date_issue } = movement;
    const own = [customerId, importId, index, date_issue, balance, shortenReference(reference)];
    return [[statementId, transactionId, account_id, ...own]];
  });
  if (rows.length > 0) await sql.query(ADD_REPEATED, [rows]);
}

async function moveCheckpoint(
  sql: Sql,
  chunk: Chunk,
  stored: Stored,
  { runningFor, dateReaded }: Pick<StoredRows, 'dateReaded'> & { runningFor: number },
): Promise<void> {
  const { importId, from, to, last, rejected, statementsBefore, statements, warned, format, members } = chunk;
  const rows = countChunk(chunk, stored);
  const contradicts = [...new Set(chunk.warnings.flatMap((it) => it.contradicts ?? []))].map(Number);
  const { affectedRows } = await sql.query<WriteResult>(MOVE_CHECKPOINT, [
    to,
    rows.inserted,
    rows.duplicates,
    rows.changed,
    rows.assumed,
    rows.assumedNew,
    rows.conflicts,
    rejected,
    stored.deliveries.get(importId) ?? 0,
    statements,
    warned,
    format,
    members === null ? null : JSON.stringify(members),
    contradicts.length === 0 ? null : JSON.stringify(contradicts),
    Math.round(runningFor * 1_000),
    last,
    dateReaded,
    dateReaded,
    importId,
    from,
    statementsBefore,
  ]);
  if (affectedRows !== 1) throw new ImportTakenOverError(`import ${importId} is being worked on elsewhere`);
}

/** Counts the rows of a chunk that was stored. */
export const countChunk = ({ importId, movements, entries }: Chunk, stored: Stored): RowCounts =>
  countRows(movements.length + entries.length, fatesOf(importId, stored));

/** IGNORE leaves out an account or a source that has just been deleted. Its foreign key would otherwise end the import. */
const ADD = 'INSERT IGNORE INTO source_accounts (source_id, account_id) VALUES ?';

/**
 * Creates a function that records the accounts of a chunk as accounts of the source that collected it. These accounts show how the
 * source's runs end.
 * @param sourceId null: the import was sent with an API key, and nothing is recorded.
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
