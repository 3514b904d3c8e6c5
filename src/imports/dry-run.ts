import { createHash } from 'node:crypto';
import type { Sql } from '../platform/database/transaction.ts';
import type { ValidationIssue } from '../platform/validation.ts';
import { UnreadableFileError } from '../statements/unreadable.ts';
import { cutIntoChunks } from './chunks.ts';
import { createEntryIdentifier, type UnstoredEntries } from './identify-entries.ts';
import type { Movement, RemovedTime } from './movement.ts';
import type { BegunStatement, Row, StatementTotals } from './rows.ts';
import type { Batch } from './store.ts';
import type { Chunk } from './store-chunk.ts';
import { createCounts, createTally } from './unique-ids.ts';

/** Reads a file as an import does, and says what would be stored. Nothing is stored. */

/** Most rows, rejected rows, warnings and statements that are listed, of each. The counts are of all. */
export const MAX_LISTED = 1_000;

export interface DryRun {
  /** Why the rest of the file cannot be read: its import would end as `failed`. Null: it would be `done`. */
  error: string | null;
  received: number;
  inserted: number;
  duplicates: number;
  rejected: number;
  statementCount: number;
  warningCount: number;
  rows: { line: number; isKnown: boolean; movement: Movement }[];
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
  }: { customerId: string; accounts: ReadonlySet<string> | null; removedTime: RemovedTime },
): Promise<DryRun> {
  const result: DryRun = {
    error: null,
    received: 0,
    inserted: 0,
    duplicates: 0,
    rejected: 0,
    statementCount: 0,
    warningCount: 0,
    rows: [],
    errors: [],
    warnings: [],
    statements: [],
  };
  const findKnown = createKnownFinder(sql);
  const chunks = cutIntoChunks(collectStatements(rows, result.statements), {
    id: NO_IMPORT,
    customerId,
    checkpoint: 0,
    accounts,
    // A file is read once.
    isUnordered: true,
    removedTime,
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
      if ('statement' in row) {
        open = { line: row.line, ...row.statement, totals: null };
        if (statements.length < MAX_LISTED) statements.push(open);
      } else if ('totals' in row && open !== null) {
        open.totals = row.totals;
      }
    }
    yield group;
  }
}

/** Creates a function that says of each movement of a chunk whether it is known. A chunk has either movements or entries. */
function createKnownFinder(sql: Sql): (chunk: Chunk) => Promise<readonly boolean[]> {
  const areKnown = createKnownMovements(sql);
  const identify = createEntryIdentifier(NO_IMPORT, createUnstoredEntries());
  return async ({ movements, entries }) => {
    if (entries.length === 0) return areKnown(movements);
    const ids = await identify(sql, NOTHING_LOCKED, entries);
    return ids.map((id) => id === null);
  };
}

function createUnstoredEntries(): UnstoredEntries {
  const counts = createCounts();
  const digest = (key: string) => createHash('sha256').update(key).digest();
  return { count: (key) => counts.get(digest(key)), add: (key) => void counts.add(digest(key)) };
}

function addChunk(result: DryRun, chunk: Chunk, known: readonly boolean[]): void {
  const { from, to, movements, entries, issues, warnings, rejected, statements, warned } = chunk;
  const duplicates = known.filter((isKnown) => isKnown).length;
  result.received += to - from;
  result.inserted += known.length - duplicates;
  result.duplicates += duplicates;
  result.rejected += rejected;
  result.statementCount += statements;
  result.warningCount += warned;
  const rows = [...movements, ...entries].map(({ line, movement }, index) => ({
    line,
    isKnown: known[index] === true,
    movement,
  }));
  append(result.rows, rows);
  append(result.errors, issues);
  append(result.warnings, warnings);
}

function append<T>(list: T[], more: readonly T[]): void {
  list.push(...more.slice(0, MAX_LISTED - list.length));
}

/** Index: transactions_unique_id. */
const STORED = `
  SELECT account_id, unique_id FROM transactions FORCE INDEX (transactions_unique_id)
  WHERE (account_id, unique_id) IN (?)`;

/**
 * Creates a function that says which movements of a file are known: stored already, or a repetition of an earlier one in the file.
 * Call it for each chunk, in the order of the file.
 */
export function createKnownMovements(
  sql: Sql,
): (movements: Batch['movements']) => Promise<ReadonlyArray<boolean>> {
  const countIn = createTally();
  return async (movements) => {
    if (movements.length === 0) return [];
    const keys = movements.map(({ uniqueId, movement }) => [movement.account_id, uniqueId] as const);
    const rows = await sql.query<{ account_id: string; unique_id: Buffer }[]>(STORED, [keys]);
    const stored = new Set(rows.map(({ account_id, unique_id }) => `${account_id} ${unique_id.toString()}`));
    return keys.map((key) => {
      const text = key.join(' ');
      const isRepeated = countIn(createHash('sha256').update(text).digest()) > 1;
      return isRepeated || stored.has(text);
    });
  };
}
