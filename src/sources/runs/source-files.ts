import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import type { StatementFormat } from '../../../packages/statements/src/formats.ts';
import { cutTo } from '../../database/text-columns.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { inWordsOf } from '../../intake/advice.ts';
import { stageImport } from '../../intake/stage.ts';
import { countOf } from '../../platform/text.ts';
import {
  type Connector,
  type FileOutcome,
  type MarkedFile,
  type OfferedFile,
  SourceError,
} from '../connectors/connector.ts';
import { MAX_FILE_BYTES } from '../connectors/file-names.ts';
import type { SourceSchedule } from '../source-schedule.ts';

/** The files of sources: which files are known, and whose imports have ended. */

/** How long the lease of a run lasts unless its process renews it. */
const LEASE_SECONDS = 15;
export const LEASE = `NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND`;

/** A lease that ends later than a new lease would was granted before the database's clock was set back. It does not count as held. */
export const LEASE_IS_HELD = `(s.lease_until >= NOW(6) AND s.lease_until <= NOW(6) + INTERVAL ${LEASE_SECONDS + 1} SECOND)`;

/** The source has another run now, or none. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** The most characters of a version that the column keeps. It is never cut, because the end may be what tells two versions apart. */
export const MAX_VERSION = 255;

/** Tells whether a file was collected before. */
export const fingerprintOf = (
  { revision }: Pick<ClaimedSource, 'revision'>,
  { name, version }: { name: string; version: string },
): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([revision, name, version]))
    .digest();

/** Index: source_files_fingerprint. */
const FIND_KNOWN_FILE = 'SELECT id, outcome FROM source_files WHERE source_id = ? AND fingerprint = ?';

/** A file that was collected before with the same settings. */
export interface KnownFile {
  id: string;
  /** `again`: it is to be collected again. */
  outcome: 'pending' | 'done' | 'failed' | 'again';
}

/** @returns null when the file was never collected with these settings, or is forgotten. */
export async function findKnownFile(
  sql: Sql,
  source: ClaimedSource,
  file: { name: string; version: string },
): Promise<KnownFile | null> {
  const values = [source.id, fingerprintOf(source, file)];
  return (await sql.query<KnownFile[]>(FIND_KNOWN_FILE, values))[0] ?? null;
}

/** The row stays, because it says which run has collected the import. Its new fingerprint is that of no file. */
const FORGET = `
  UPDATE source_files SET outcome = 'forgotten', fingerprint = UNHEX(SHA2(CONCAT('forgotten ', id), 256)), marked_at = NULL
  WHERE id = ? AND outcome = 'again'`;

/** Forgets a file that is to be collected again. */
export async function forgetFile(sql: Sql, id: string): Promise<void> {
  await sql.query(FORGET, [id]);
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
 * @param file.known the row of the file, if it is collected again.
 * @throws {LeaseLostError} when the source has another run now, or none. Then nothing is recorded.
 */
export function recordFile(
  database: DataSource,
  source: ClaimedSource,
  file: {
    name: string;
    version: string;
    cursor?: string | undefined;
    importId: string | null;
    known: KnownFile | null;
  },
): Promise<void> {
  const { name, version, cursor, importId, known } = file;
  const fingerprint = fingerprintOf(source, file);
  const outcome = importId === null ? 'failed' : 'pending';
  return inTransaction(database, async (sql) => {
    const { affectedRows } = await sql.query<WriteResult>(MOVE_POSITION, [
      cursor ?? version,
      source.id,
      source.runId,
    ]);
    if (affectedRows !== 1) throw new LeaseLostError('another run has the source');
    const values = [
      source.id,
      source.customerId,
      source.runId,
      fingerprint,
      cutTo('source_files.name', name),
      version,
      importId,
      outcome,
    ];
    if (known !== null) await forgetFile(sql, known.id);
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
const FROM_ENDED_IMPORTS = `
  FROM (
    SELECT id, import_id FROM source_files FORCE INDEX (source_files_outcome)
    WHERE outcome = 'pending' AND source_id = ? ORDER BY id LIMIT 100) o
  STRAIGHT_JOIN imports i FORCE INDEX (PRIMARY) ON i.id = o.import_id
  STRAIGHT_JOIN source_files f FORCE INDEX (PRIMARY) ON f.id = o.id
  WHERE i.status IN ('done', 'failed')`;

/** Reads at most 100 files whose imports have ended, in the order in which they were collected. */
export const findEndedFiles = (sql: Sql, sourceId: string): Promise<EndedFile[]> =>
  sql.query(
    `SELECT f.id, f.name, f.version, f.import_id, i.status, i.error, i.received, i.rejected ${FROM_ENDED_IMPORTS} ORDER BY f.id`,
    [sourceId],
  );

/** Says whether a source has files that can be marked. */
export async function hasEndedFiles(sql: Sql, sourceId: string): Promise<boolean> {
  return (await sql.query<unknown[]>(`SELECT 1 ${FROM_ENDED_IMPORTS} LIMIT 1`, [sourceId])).length > 0;
}

/** Index: source_files_outcome. */
const FIND_PENDING_FILE = `SELECT 1 FROM source_files WHERE outcome = 'pending' AND source_id = ? LIMIT 1`;

/** Says whether a source has files whose imports have not ended, or that are not marked. */
export async function hasPendingFiles(sql: Sql, sourceId: string): Promise<boolean> {
  return (await sql.query<unknown[]>(FIND_PENDING_FILE, [sourceId])).length > 0;
}

const SET_OUTCOME = `
  UPDATE source_files SET outcome = ?, place = ?, marked_at = IF(place IS NULL, NULL, NOW(6)) WHERE id = ?`;

/** The most marked files that a run looks at again, the newest first. */
const MAX_LOOKED_AT = 2_000;

/** Index: source_files_marked. */
const READ_MARKED_FILES = `
  SELECT name, version, place, fingerprint FROM source_files
  WHERE source_id = ? AND marked_at > NOW(6) - INTERVAL 1 DAY ORDER BY marked_at DESC, id DESC LIMIT ${MAX_LOOKED_AT}`;

/** Reads the files that were marked within the last day. Of several files that were put in the same place, only the last one is there. */
export async function findMarkedFiles(sql: Sql, source: ClaimedSource): Promise<MarkedFile[]> {
  const rows = await sql.query<(MarkedFile & { fingerprint: Buffer })[]>(READ_MARKED_FILES, [source.id]);
  const byPlace = new Map<string, MarkedFile>();
  for (const { fingerprint, ...file } of rows) {
    if (byPlace.has(file.place)) continue;
    // With other settings, the place is one of another folder.
    if (fingerprint.equals(fingerprintOf(source, file))) byPlace.set(file.place, file);
  }
  return [...byPlace.values()];
}

/** The longest place that is stored. Names on a server may be longer. */
const MAX_PLACE = 1_024;

/** Index: the primary key. */
const READ_IMPORT_ERRORS = `
  SELECT line, path, message FROM import_errors WHERE import_id = ? AND severity = 'error' ORDER BY line, path LIMIT ?`;

/** The data of a source that a run needs. */
export interface ClaimedSource {
  id: string;
  customerId: string;
  runId: string;
  kind: string;
  /** A JSON object. */
  settings: string;
  /** A JSON object, sealed. */
  credentials: string | null;
  schedule: SourceSchedule;
  accountId: string | null;
  format: string;
  profile: string | null;
  createAccounts: boolean;
  forceAccount: boolean;
  /** null: the kind of source has none. */
  settleSeconds: number | null;
  revision: number;
  position: string | null;
  /** Failed runs in a row before this one. */
  failures: number;
}

/** The file can never be imported as it is. */
export class RefusedFileError extends Error {
  override readonly name = 'RefusedFileError';
}

/** The run cannot go on now, but the source is not the reason. The run is continued soon. */
export class RunInterruptedError extends Error {
  override readonly name = 'RunInterruptedError';
}

/**
 * A run that ends between staging a file and recording it leaves an unrecorded import. The next run finds the import by this key, and
 * does not stage the file again. Idempotency keys of clients are ASCII, so they never equal this key.
 */
const keyOf = (source: ClaimedSource, file: OfferedFile): string =>
  `§${source.id} ${fingerprintOf(source, file).toString('hex')}`;

const FREE_KEY = 'UPDATE imports SET idempotency_key = NULL WHERE customer_id = ? AND idempotency_key = ?';

/**
 * Stages a file as an import.
 * @param onProgress called with the length of each piece that arrives.
 * @param traceparent of the span that the import belongs to.
 * @returns the import's id.
 * @throws {SourceError} when the file cannot be read.
 * @throws {RefusedFileError} when it is too large.
 * @throws {RunInterruptedError} when an earlier run is still staging the file.
 */
export async function stageFile(
  database: DataSource,
  source: ClaimedSource,
  file: OfferedFile,
  {
    signal,
    onProgress,
    traceparent,
  }: { signal: AbortSignal; onProgress: (bytes: number) => void; traceparent: string | undefined },
): Promise<string> {
  const { customerId, accountId, profile, createAccounts, forceAccount } = source;
  const idempotencyKey = keyOf(source, file);
  const staged = await stageImport(database, {
    customerId,
    sender: { sourceId: source.id },
    format: file.format === 'auto' ? (source.format as StatementFormat | 'auto') : file.format,
    statement: { accountId, profile, createAccounts, forceAccount },
    received: null,
    idempotencyKey,
    traceparent,
    body: readFile(file, signal, onProgress),
  });
  switch (staged.outcome) {
    case 'staged':
    case 'replayed':
      return staged.importId;
    case 'key reused':
      await database.query(FREE_KEY, [customerId, idempotencyKey]);
      throw new SourceError(
        `${file.name} changed while it was collected. It is collected again by the next run.`,
      );
    case 'api key deleted':
      throw new LeaseLostError('the source was deleted');
    case 'in progress':
    case 'dropped':
      throw new RunInterruptedError(
        'Another run is still collecting one of the files. This run is continued soon.',
      );
  }
}

async function* readFile(
  file: OfferedFile,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of file.open(signal)) {
    signal.throwIfAborted();
    onProgress(part.length);
    bytes += part.length;
    if (bytes > MAX_FILE_BYTES) throw new RefusedFileError('The file is larger than 1 GiB.');
    yield part;
  }
}

/** The most reasons for rejected rows that are written beside a file. */
const SHOWN_REASONS = 100;

/** The outcomes of a run's files. */
export interface RunTally {
  done: number;
  failed: number;
  /** The error of the first file that failed. null: none has failed. */
  firstFailure: string | null;
}

/**
 * Marks the files whose imports have ended, first in the source and then in MySQL. After a crash between the two, both are repeated.
 * @throws {SourceError} when a file cannot be marked.
 */
export async function markEndedFiles(
  sql: Sql,
  source: Pick<ClaimedSource, 'id'>,
  connector: Connector,
  tally: RunTally,
): Promise<void> {
  for (const file of await findEndedFiles(sql, source.id)) {
    const failure = await describeFailure(sql, file);
    const outcome: FileOutcome =
      failure === null
        ? { status: 'done' }
        : { status: 'failed', reason: [failure.sentence, ...failure.details].join('\n') };
    const place = (await connector.mark?.(file, outcome)) ?? null;
    const known = place !== null && place.length <= MAX_PLACE ? place : null;
    await sql.query(SET_OUTCOME, [outcome.status, known, file.id]);
    if (failure === null) tally.done += 1;
    else addFailure(tally, file.name, failure.sentence);
  }
}

/** Counts a file that failed. @param sentence the reason. */
export function addFailure(tally: RunTally, name: string, sentence: string): void {
  tally.failed += 1;
  tally.firstFailure ??= `${name}: ${sentence}`;
}

/**
 * Describes why a file counts as failed, for the owner of its source: it could not be read, or rows of it were rejected.
 * @returns null when it did not fail.
 */
async function describeFailure(
  sql: Sql,
  { import_id: importId, status, error, received, rejected }: EndedFile,
): Promise<{ sentence: string; details: string[] } | null> {
  const isRead = status === 'done';
  if (isRead && rejected === 0) return null;
  const reasons =
    rejected === 0
      ? []
      : await sql.query<{ line: number; path: string; message: string }[]>(READ_IMPORT_ERRORS, [
          importId,
          SHOWN_REASONS,
        ]);
  const lines = reasons.map(({ line, path, message }) =>
    [line === 0 ? '' : `line ${line}`, path, inWordsOf('source', message)]
      .filter((it) => it !== '')
      .join(', '),
  );
  if (!isRead) {
    return {
      sentence: inWordsOf('source', error ?? 'The file could not be read.'),
      details: [...lines, `The id of the import is ${importId}.`],
    };
  }
  const others = received === null || received > rejected ? 'The other rows are stored. ' : '';
  const details = [...lines, `${others}The id of the import is ${importId}.`];
  const first = lines[0] === undefined ? '' : `, the first because of ${lines[0]}`;
  const rows = countOf(received ?? rejected, 'row');
  return { sentence: `${rejected} of ${rows} ${rejected === 1 ? 'was' : 'were'} rejected${first}.`, details };
}
