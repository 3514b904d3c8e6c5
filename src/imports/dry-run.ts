import { createHash } from 'node:crypto';
import type { Sql } from '../platform/database/transaction.ts';
import type { ValidationIssue } from '../platform/validation.ts';
import { UnreadableFileError } from '../statements/unreadable.ts';
import { type ChunkedImport, cutIntoChunks } from './chunks.ts';
import { createEntryIdentifier, type UnstoredEntries } from './identify-entries.ts';
import { createKnownMovements, type DuplicateReason, type Known, readStoredById } from './known-movements.ts';
import type { Movement } from './movement.ts';
import type { BegunStatement, Row, StatementTotals } from './rows.ts';
import type { Chunk } from './store-chunk.ts';
import { createCounts } from './unique-ids.ts';

/** Reads a file as an import does, and says what would be stored. Nothing is stored. */

/** Most rows, rejected rows, warnings and statements that are listed, of each. The counts are of all. */
export const MAX_LISTED = 1_000;

export interface DryRun {
  /** Why the rest of the file cannot be read: its import would end as `failed`. Null: it would be `done`. */
  error: string | null;
  received: number;
  inserted: number;
  duplicates: number;
  changed: number;
  assumed: number;
  conflicts: number;
  rejected: number;
  statementCount: number;
  warningCount: number;
  /** `known`: what the row was taken for; null: it is new. */
  rows: { line: number; known: Known | null; movement: Movement }[];
  errors: (ValidationIssue & { line: number })[];
  warnings: { line: number; message: string }[];
  statements: DryStatement[];
}

/** A statement of the file. `totals` is null if the file breaks off before the statement ends. */
export type DryStatement = BegunStatement & { line: number; totals: StatementTotals | null };

/** No import has this id, so nothing that is stored counts as this file's own. */
const NO_IMPORT = '0';

/** The customer is not locked: what others store meanwhile need not be seen. */
const NOTHING_LOCKED = '0';

/**
 * Reads the rows of a file, and finds those that are known already.
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
  }: Pick<ChunkedImport, 'customerId' | 'accounts' | 'removedTime' | 'unidentified'>,
): Promise<DryRun> {
  const result: DryRun = {
    error: null,
    received: 0,
    inserted: 0,
    duplicates: 0,
    changed: 0,
    assumed: 0,
    conflicts: 0,
    rejected: 0,
    statementCount: 0,
    warningCount: 0,
    rows: [],
    errors: [],
    warnings: [],
    statements: [],
  };
  const findKnown = createKnownFinder(sql, unidentified === 'known');
  const chunks = cutIntoChunks(collectStatements(rows, result.statements), {
    id: NO_IMPORT,
    customerId,
    checkpoint: 0,
    accounts,
    // A file is read once.
    isUnordered: true,
    removedTime,
    unidentified,
  });
  try {
    for await (const chunk of chunks) addChunk(result, chunk, await findKnown(chunk));
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    result.error = error.message;
  }
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

/** Creates a function that says of each movement of a chunk what it was taken for. A chunk has either movements or entries. */
function createKnownFinder(
  sql: Sql,
  mayAssume: boolean,
): (chunk: Chunk) => Promise<readonly (Known | null)[]> {
  const findKnown = createKnownMovements(sql);
  const identify = createEntryIdentifier(NO_IMPORT, { unstored: createUnstoredEntries(), mayAssume });
  return async ({ movements, entries }) => {
    if (entries.length === 0) return findKnown(movements);
    const identities = await identify(sql, NOTHING_LOCKED, entries);
    const ids = identities.flatMap((it) => ('transactionId' in it ? [it.transactionId] : []));
    const stored = await readStoredById(sql, ids);
    return identities.map((it) =>
      'uniqueId' in it ? null : { reason: it.reason, stored: stored.get(it.transactionId) ?? null },
    );
  };
}

function createUnstoredEntries(): UnstoredEntries {
  const counts = createCounts();
  const digest = (key: string) => createHash('sha256').update(key).digest();
  return { count: (key) => counts.get(digest(key)), add: (key) => void counts.add(digest(key)) };
}

function addChunk(result: DryRun, chunk: Chunk, known: readonly (Known | null)[]): void {
  const { from, to, movements, entries, issues, warnings, rejected, statements, warned } = chunk;
  const count = (reason: DuplicateReason) => known.filter((it) => it?.reason === reason).length;
  const conflicts = count('conflict');
  const duplicates = known.filter((it) => it !== null).length - conflicts;
  result.received += to - from;
  result.inserted += known.length - duplicates - conflicts;
  result.duplicates += duplicates;
  result.changed += count('changed');
  result.assumed += count('assumed');
  result.conflicts += conflicts;
  result.rejected += rejected;
  result.statementCount += statements;
  result.warningCount += warned;
  const rows = [...movements, ...entries].map(({ line, movement }, index) => ({
    line,
    known: known[index] ?? null,
    movement,
  }));
  append(result.rows, rows);
  append(result.errors, issues);
  append(result.warnings, warnings);
}

function append<T>(list: T[], more: readonly T[]): void {
  list.push(...more.slice(0, MAX_LISTED - list.length));
}
