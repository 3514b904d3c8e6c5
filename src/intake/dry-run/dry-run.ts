import { hash } from 'node:crypto';
import { UnreadableFileError } from '../../../packages/statements/src/unreadable.ts';
import type { Sql } from '../../database/transaction.ts';
import { readConflicts } from '../../ledger/conflicts.ts';
import {
  type IdentifiedRow,
  keyOf,
  readStored,
  readStoredById,
  type StoredMovement,
} from '../../ledger/known-movements.ts';
import type { Movement } from '../../ledger/movement.ts';
import {
  type Compared,
  comparedOf,
  compareWith,
  conflictingRow,
  countRows,
  createConflictDecisions,
  knownRow,
  type OnConflict,
  type RowCounts,
  type RowFate,
} from '../../ledger/row-fate.ts';
import type { ValidationIssue } from '../../platform/problem.ts';
import { type ChunkedImport, cutIntoChunks } from '../importer/chunks.ts';
import type { BegunStatement, Row, StatementTotals } from '../importer/rows.ts';
import type { Chunk } from '../importer/store-chunk.ts';
import { type ConflictingEntry, fateOf, type Identity } from '../known/entry.ts';
import { createFileEntries } from '../known/file-entries.ts';
import { createFileIdentifier } from '../known/identify-file.ts';

/** Reads a file as an import does, and reports what would be stored. Stores nothing. */

/** Most rows that are listed. The same limit applies to rejected rows, warnings and statements. The counts include all. */
export const MAX_LISTED = 1_000;

export interface DryRun {
  /** Why the rest of the file cannot be read. Its import would end as `failed`; null: it would end as `done`. */
  error: string | null;
  received: number;
  counts: RowCounts;
  rejected: number;
  statementCount: number;
  warningCount: number;
  rows: DryRow[];
  errors: (ValidationIssue & { line: number })[];
  warnings: { line: number; message: string }[];
  statements: DryStatement[];
}

/** A row that is not rejected. */
interface DryRow {
  line: number;
  movement: Movement;
  /** null: it is simply new. */
  fate: RowFate | null;
  /** The movement that it was taken for. null: it is new, or was taken for an earlier row of the file. */
  stored: StoredMovement | null;
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
    counts: countRows(0, []),
    rejected: 0,
    statementCount: 0,
    warningCount: 0,
    rows: [],
    errors: [],
    warnings: [],
    statements: [],
  };
  const file = createFileEntries();
  const decide = createConflictDecisions();
  const decideRows = createRowDecisions(sql, decide, policyOf);
  const listed: { row: DryRow; entry: number | null }[] = [];
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
      const rows = await decideRows(chunk.movements);
      addChunk(result, chunk, rows);
      file.add(chunk);
      const ofChunk = [
        ...rows.map((row) => ({ row, entry: null })),
        ...chunk.entries.map(({ line, movement, index }) => ({
          row: { line, movement, fate: null, stored: null },
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
  const identities = identifier.identities();
  const conflicts = [...identities.values()].flatMap((it) => ('conflict' in it ? it.conflict : []));
  const findConflict = await readConflicts(sql, [
    ...new Set(conflicts.flatMap(({ transactionId }) => transactionId ?? [])),
  ]);
  await addEntries(sql, result, identities, listed, ({ accountId, transactionId, version }) => {
    const kept = transactionId === null ? undefined : findConflict(transactionId, version);
    return conflictingRow(decide(`${accountId} ${transactionId} ${version}`, kept, policyOf(accountId)));
  });
  addWarnings(result, identifier.warnings(), identifier.warnings().length);
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

/**
 * Creates a function that decides rows that have an id. Call it for each chunk, in the order of the file: a row may come earlier in the
 * file.
 */
function createRowDecisions(
  sql: Sql,
  decide: ReturnType<typeof createConflictDecisions>,
  policyOf: (accountId: string) => OnConflict,
) {
  const first = new Map<string, Compared>();

  return async (rows: readonly IdentifiedRow[]): Promise<DryRow[]> => {
    if (rows.length === 0) return [];
    const findStored = await readStored(sql, rows);
    const ids = rows.flatMap((row) => findStored(row)?.id ?? []);
    const findConflict = await readConflicts(sql, [...new Set(ids)]);
    return rows.map((row): DryRow => {
      const { line, movement, uniqueId } = row;
      const stored = findStored(row) ?? null;
      const key = hash('md5', keyOf(movement, uniqueId), 'base64');
      const before = stored === null ? first.get(key) : comparedOf(stored);
      if (before === undefined) {
        first.set(key, comparedOf(movement));
        return { line, movement, fate: null, stored };
      }
      const reason = compareWith(row, before);
      if (reason !== 'conflict') return { line, movement, fate: knownRow(reason), stored };
      const { version } = comparedOf(movement);
      const kept = stored === null ? undefined : findConflict(stored.id, version);
      const decision = decide(`${key} ${version}`, kept, policyOf(movement.account_id));
      return { line, movement, fate: conflictingRow(decision), stored };
    });
  };
}

function addChunk(result: DryRun, chunk: Chunk, rows: readonly DryRow[]): void {
  const { from, to, issues, warnings, rejected, statements, warned } = chunk;
  result.received += to - from;
  addCounts(
    result,
    rows.length,
    rows.flatMap(({ fate }) => fate ?? []),
  );
  result.rejected += rejected;
  result.statementCount += statements;
  append(result.errors, issues);
  addWarnings(result, warnings, warned);
}

function addCounts({ counts }: DryRun, rows: number, fates: readonly RowFate[]): void {
  const more = countRows(rows, fates);
  for (const name of Object.keys(more) as (keyof RowCounts)[]) counts[name] += more[name];
}

/** @param count of all; `warnings` are the first of them. */
function addWarnings(result: DryRun, warnings: readonly DryRun['warnings'][number][], count: number): void {
  result.warningCount += count;
  append(
    result.warnings,
    warnings.map(({ line, message }) => ({ line, message })),
  );
}

/** Counts the entries, and lists the first rows. */
async function addEntries(
  sql: Sql,
  result: DryRun,
  identities: ReadonlyMap<number, Identity>,
  listed: readonly { row: DryRow; entry: number | null }[],
  decide: (conflict: ConflictingEntry) => RowFate,
): Promise<void> {
  const fates = new Map([...identities.values()].map((it) => [it, fateOf(it, decide)]));
  addCounts(
    result,
    identities.size,
    [...fates.values()].flatMap((it) => it ?? []),
  );
  const identityOf = (entry: number | null) => (entry === null ? undefined : identities.get(entry));
  const stored = await readStoredById(
    sql,
    listed.flatMap(({ entry }) => storedIdOf(identityOf(entry)) ?? []),
  );
  for (const { row, entry } of listed) {
    const identity = identityOf(entry);
    const movement = stored.get(storedIdOf(identity) ?? '') ?? null;
    result.rows.push(
      identity === undefined ? row : { ...row, fate: fates.get(identity) ?? null, stored: movement },
    );
  }
}

/** The stored movement that an entry was taken for. Null: the entry is new, or was taken for an earlier entry of the file. */
function storedIdOf(identity: Identity | undefined): string | null {
  if (identity === undefined) return null;
  if ('conflict' in identity) return identity.conflict.transactionId;
  if ('uniqueId' in identity) return null;
  return 'transactionId' in identity.known ? identity.known.transactionId : null;
}

function append<T>(list: T[], more: readonly T[]): void {
  list.push(...more.slice(0, MAX_LISTED - list.length));
}
