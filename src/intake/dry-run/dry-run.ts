import { hash } from 'node:crypto';
import { UnreadableFileError } from '../../../packages/statements/src/unreadable.ts';
import type { Sql } from '../../database/transaction.ts';
import { createConflictDecisions, type OnConflict, readConflicts } from '../../ledger/conflicts.ts';
import {
  compareWith,
  type DuplicateReason,
  type IdentifiedRow,
  type Known,
  keyOf,
  readStored,
  readStoredById,
  textsOf,
  versionOf,
} from '../../ledger/known-movements.ts';
import { isContentId, type Movement } from '../../ledger/movement.ts';
import type { ValidationIssue } from '../../platform/problem.ts';
import { type ChunkedImport, cutIntoChunks } from '../importer/chunks.ts';
import type { BegunStatement, Row, StatementTotals } from '../importer/rows.ts';
import type { Chunk } from '../importer/store-chunk.ts';
import type { Identity } from '../known/entry.ts';
import { createFileEntries } from '../known/file-entries.ts';
import { createFileIdentifier } from '../known/identify-file.ts';

/** Reads a file as an import does, and reports what would be stored. Stores nothing. */

/** Most rows that are listed. The same limit applies to rejected rows, warnings and statements. The counts include all. */
export const MAX_LISTED = 1_000;

export interface DryRun {
  /** Why the rest of the file cannot be read. Its import would end as `failed`; null: it would end as `done`. */
  error: string | null;
  received: number;
  inserted: number;
  duplicates: number;
  changed: number;
  assumed: number;
  assumedNew: number;
  conflicts: number;
  rejected: number;
  statementCount: number;
  warningCount: number;
  /** `known`: the movement that the row was taken for; null: the row is new. */
  rows: {
    line: number;
    known: Known | null;
    /** It would be stored, and nothing proves that it is not known. */
    isAssumedNew?: boolean;
    movement: Movement;
  }[];
  errors: (ValidationIssue & { line: number })[];
  warnings: { line: number; message: string }[];
  statements: DryStatement[];
}

/** A statement of the file. `totals` is null if a limit ends the reading before the statement ends. */
export type DryStatement = BegunStatement & { line: number; totals: StatementTotals | null };

/** No import has this id, so no stored movement counts as this file's own. */
const NO_IMPORT = '0';

/**
 * Reads the rows of a file, and finds the rows that are known already.
 * @param accounts as for an import (`cutIntoChunks`).
 */
export async function runDry(
  sql: Sql,
  rows: AsyncIterable<Row[]>,
  {
    customerId,
    accounts,
    removedTime,
    unidentified,
    policyOf = () => 'hold',
  }: Pick<ChunkedImport, 'customerId' | 'accounts' | 'removedTime' | 'unidentified'> & {
    policyOf?: (accountId: string) => OnConflict;
  },
): Promise<DryRun> {
  const result: DryRun = {
    error: null,
    received: 0,
    inserted: 0,
    duplicates: 0,
    changed: 0,
    assumed: 0,
    assumedNew: 0,
    conflicts: 0,
    rejected: 0,
    statementCount: 0,
    warningCount: 0,
    rows: [],
    errors: [],
    warnings: [],
    statements: [],
  };
  const file = createFileEntries();
  const findKnown = createKnownMovements(sql, policyOf);
  const listed: { row: DryRun['rows'][number]; entry: number | null }[] = [];
  const chunks = cutIntoChunks(collectStatements(rows, result.statements), {
    id: NO_IMPORT,
    customerId,
    checkpoint: 0,
    accounts,
    // A dry run can read a file only once.
    isUnordered: true,
    removedTime,
    unidentified,
  });
  try {
    for await (const chunk of chunks) {
      const found = await findKnown(chunk.movements);
      addChunk(result, chunk, found);
      file.add(chunk);
      const ofChunk = [
        ...chunk.movements.map(({ line, movement }, index) => ({
          row: { line, known: found[index]?.known ?? null, movement },
          entry: null,
        })),
        ...chunk.entries.map(({ line, movement, index }) => ({
          row: { line, known: null, movement },
          entry: index,
        })),
      ].sort((one, other) => one.row.line - other.row.line);
      append(listed, ofChunk);
    }
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    result.error = error.message;
  }
  const identifier = createFileIdentifier({
    customerId,
    importId: NO_IMPORT,
    accounts: file.end(),
    mayAssume: unidentified === 'known',
  });
  await identifier.prepare(sql);
  await addEntries(sql, result, identifier.identities(), listed);
  return result;
}

/** Passes rows on, and keeps the first statements. */
async function* collectStatements(
  rows: AsyncIterable<Row[]>,
  statements: DryStatement[],
): AsyncGenerator<Row[]> {
  let open: DryStatement | null = null;
  for await (const group of rows) {
    for (const row of group) {
      if ('begun' in row) {
        open = { line: row.line, ...row.begun, totals: null };
        if (statements.length < MAX_LISTED) statements.push(open);
      } else if ('totals' in row && open !== null) {
        open.totals = row.totals;
      }
    }
    yield group;
  }
}

/** A row with an id. Says what it was taken for, and whether an import would store it. */
interface DryRow {
  known: Known | null;
  isInserted: boolean;
  isHeld: boolean;
}

/** The first row of the file with an id. */
interface FirstRow {
  version: string;
  texts: string;
}

/**
 * Creates a function that says for each row whether its movement is stored already or came earlier in the file. Call it for each
 * chunk, in the order of the file.
 */
function createKnownMovements(sql: Sql, policyOf: (accountId: string) => OnConflict) {
  const first = new Map<string, FirstRow>();
  const decide = createConflictDecisions();
  const digest = (text: string) => hash('md5', text, 'base64');

  return async (rows: readonly IdentifiedRow[]): Promise<DryRow[]> => {
    if (rows.length === 0) return [];
    const findStored = await readStored(sql, rows);
    const ids = rows.flatMap((row) => findStored(row)?.id ?? []);
    const findConflict = await readConflicts(sql, [...new Set(ids)]);
    return rows.map((row): DryRow => {
      const { movement, uniqueId } = row;
      const stored = findStored(row) ?? null;
      const key = digest(keyOf(movement, uniqueId));
      const own = { version: versionOf(movement), texts: digest(textsOf(movement)) };
      const before = first.get(key);
      if (stored === null && before === undefined) {
        first.set(key, own);
        return { known: null, isInserted: true, isHeld: false };
      }
      const reason = stored === null ? compareRows(row, own, before ?? own) : compareWith(row, stored);
      if (reason !== 'conflict') return { known: { reason, stored }, isInserted: false, isHeld: false };
      const kept = stored === null ? undefined : findConflict(stored.id, own.version);
      const { outcome } = decide(`${key} ${own.version}`, kept, policyOf(movement.account_id));
      const isInserted = outcome === 'new';
      const isHeld = outcome === 'held';
      return { known: { reason: outcome === 'known' ? 'same' : 'conflict', stored }, isInserted, isHeld };
    });
  };
}

/** As compareWith, for a row that comes twice in the file. */
function compareRows(
  { movement, uniqueId }: IdentifiedRow,
  own: FirstRow,
  before: FirstRow,
): DuplicateReason {
  if (own.version !== before.version) return 'conflict';
  if (isContentId(movement, uniqueId)) return 'assumed';
  return own.texts === before.texts ? 'same' : 'changed';
}

function addChunk(result: DryRun, chunk: Chunk, rows: readonly DryRow[]): void {
  const { from, to, issues, warnings, rejected, statements, warned } = chunk;
  const count = (isCounted: (row: DryRow) => boolean) => rows.filter(isCounted).length;
  result.received += to - from;
  result.inserted += count(({ isInserted }) => isInserted);
  result.duplicates += count(({ isInserted, isHeld }) => !isInserted && !isHeld);
  result.changed += count(({ known }) => known?.reason === 'changed');
  result.assumed += count(({ known }) => known?.reason === 'assumed');
  result.conflicts += count(({ known }) => known?.reason === 'conflict');
  result.rejected += rejected;
  result.statementCount += statements;
  result.warningCount += warned;
  append(result.errors, issues);
  append(result.warnings, warnings);
}

/** Counts the entries, and lists the first rows. */
async function addEntries(
  sql: Sql,
  result: DryRun,
  identities: ReadonlyMap<number, Identity>,
  listed: readonly { row: DryRun['rows'][number]; entry: number | null }[],
): Promise<void> {
  for (const identity of identities.values()) {
    if ('uniqueId' in identity) {
      result.inserted += 1;
      if (identity.isAssumed) result.assumedNew += 1;
      continue;
    }
    result.duplicates += 1;
    if (identity.reason === 'changed') result.changed += 1;
    if (identity.reason === 'assumed') result.assumed += 1;
  }
  const identityOf = (entry: number | null) => (entry === null ? undefined : identities.get(entry));
  const stored = await readStoredById(
    sql,
    listed.flatMap(({ entry }) => storedIdOf(identityOf(entry)) ?? []),
  );
  for (const { row, entry } of listed) {
    const identity = identityOf(entry);
    if (identity === undefined) result.rows.push(row);
    else if ('uniqueId' in identity) result.rows.push({ ...row, isAssumedNew: identity.isAssumed });
    else {
      const { reason } = identity;
      const movement = stored.get(storedIdOf(identity) ?? '') ?? null;
      result.rows.push({ ...row, known: { reason, stored: movement } });
    }
  }
}

/** The stored movement that an entry was taken for. Null: the entry is new, or was taken for an earlier entry of the file. */
function storedIdOf(identity: Identity | undefined): string | null {
  if (identity === undefined || 'uniqueId' in identity) return null;
  return 'transactionId' in identity.known ? identity.known.transactionId : null;
}

function append<T>(list: T[], more: readonly T[]): void {
  list.push(...more.slice(0, MAX_LISTED - list.length));
}
