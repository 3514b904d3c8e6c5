import { setImmediate as nextPass } from 'node:timers/promises';
import * as v from 'valibot';
import { parseThousandths } from '../../../packages/statements/src/amounts.ts';
import type { MemberOutcome } from '../../../packages/statements/src/read-files.ts';
import { UnreadableFileError } from '../../../packages/statements/src/unreadable.ts';
import {
  canonical,
  createUniqueIds,
  decimalsIssue,
  isOfRemovedTime,
  isUnidentified,
  Movement,
  type RemovedTime,
  removedTimeIssue,
  UNKNOWN_ACCOUNT,
  type Unidentified,
} from '../../ledger/movement.ts';
import { createOrdinals } from '../../ledger/ordinals.ts';
import type { ValidationIssue } from '../../platform/problem.ts';
import { toValidationIssue } from '../../platform/validation.ts';
import type { KnownAccount } from './find-account.ts';
import type { EntryStatement, Row } from './rows.ts';
import { createRunningBalances } from './running-balances.ts';
import type { Chunk } from './store-chunk.ts';

/** Validates the rows of an import and cuts them into chunks. */

/** Rows and statements per transaction. More would be faster, but other imports of the customer would wait longer. */
const CHUNK_ROWS = 1_000;
const CHUNK_STATEMENTS = 1_000;

/** Most statements of a file, and most that are about the same account and end on the same day. */
const MOST_STATEMENTS = 100_000;
const MOST_STATEMENTS_OF_DAY = 1_000;
const TOO_MANY_STATEMENTS = `The file has more than ${MOST_STATEMENTS} statements. Send it in several files.`;
const TOO_MANY_OF_DAY = `The file has more than ${MOST_STATEMENTS_OF_DAY} final statements of one account that end on the same day. Check the program that made it.`;

/**
 * Rows read in one pass of the event loop. Meanwhile, several SQL statements store the previous chunk. Their answers are handled
 * only between two passes, so long passes would delay them.
 */
const ROWS_PER_PASS = 20;

/** Most issues, and most warnings, that are listed for one import. `rejected` and `warnings` count all. */
const MAX_LISTED = 10_000;

/** Accounts by their ids. Says for each its currency, whether its running balances are checked, and whether it has statements. */
type KnownAccounts = ReadonlyMap<
  string,
  Pick<KnownAccount, 'currency' | 'check_balances' | 'has_statements'>
>;

/** Chunks shrink if one locks its customer for more milliseconds than this, down to the fewest rows. */
const MOST_LOCKED = 1_000;
const FEWEST_ROWS = 50;

/** The size of the next chunk. */
export interface ChunkSize {
  rows(): number;
  /** Called with how long a chunk has locked its customer, in milliseconds. */
  locked(duration: number): void;
}

/**
 * Halves the rows after a chunk that locked its customer for too long. Doubles them after a chunk that took less than a quarter of
 * that time.
 */
export function createChunkSize(): ChunkSize {
  let rows = CHUNK_ROWS;
  return {
    rows: () => rows,
    locked(duration) {
      if (duration > MOST_LOCKED) rows = Math.max(FEWEST_ROWS, rows / 2);
      else if (duration < MOST_LOCKED / 4) rows = Math.min(CHUNK_ROWS, rows * 2);
    },
  };
}

export interface ChunkedImport {
  id: string;
  customerId: string;
  /** Rows that are stored already. They are read again, because the ids of later rows depend on them, but are not yielded. */
  checkpoint: number;
  size?: ChunkSize;
  /** Statements that begin in chunks that are stored already. */
  storedStatements?: number;
  /** The accounts that rows may have; null: the rows come from statements, whose accounts the reader has found. */
  accounts: KnownAccounts | null;
  /** Whether a statement file may go back to any day. See createOrdinals. */
  isUnordered?: boolean;
  removedTime: RemovedTime;
  /** Whether a row without an id may be taken for an equal stored movement. */
  unidentified: Unidentified;
}

/**
 * Yields the chunks of an import. The last chunk may be empty.
 * @throws {UnreadableFileError} the reader's error, after a chunk with the rows before the error.
 * @throws {UnorderedFileError} unless `isUnordered`.
 */
export async function* cutIntoChunks(
  rows: AsyncIterable<Row[]>,
  options: ChunkedImport,
): AsyncGenerator<Chunk, void> {
  const builder = createChunkBuilder(options);
  let read = 0;
  try {
    for await (const group of rows) {
      for (const row of group) {
        read += 1;
        if (read % ROWS_PER_PASS === 0) await nextPass();
        // A full chunk is yielded only when another row follows, because until then it may be the last chunk.
        if (builder.isFullBefore(row)) yield builder.take();
        if (isEntry(row)) builder.add(row);
        else builder.note(row);
      }
    }
  } catch (error) {
    if (error instanceof UnreadableFileError && !builder.isEmpty()) yield builder.take();
    throw error;
  }
  builder.checkBalances();
  yield { ...builder.take(), last: true, members: builder.members() };
}

type MovementRow = Extract<Row, { value: unknown } | { movement: Movement }>;
type EntryRow = MovementRow | Extract<Row, { issue: string | null }>;

const isEntry = (row: Row): row is EntryRow => 'movement' in row || 'value' in row || 'issue' in row;

type OpenChunk = { -readonly [K in keyof Chunk]: Chunk[K] extends readonly (infer T)[] ? T[] : Chunk[K] };

/** Collects rows until they are taken as a chunk. */
function createChunkBuilder({
  id,
  customerId,
  checkpoint,
  size = createChunkSize(),
  storedStatements = 0,
  accounts,
  isUnordered = false,
  removedTime,
  unidentified,
}: ChunkedImport) {
  const uniqueIdOf = createUniqueIds(unidentified === 'store' ? id : undefined);
  const ordinalOf = createOrdinals({ keepAll: isUnordered });
  const balanced = [...(accounts ?? [])].filter(([, { check_balances }]) => check_balances === 1);
  const running = new Map(
    balanced.map(([id, { currency }]) => [id, createRunningBalances(currency, 'import')]),
  );
  const withoutStatement = new Map<string, EntryStatement>();
  const statementsOfDay = new Map<string, number>();
  let position = 0;
  let begun = 0;
  const members: MemberOutcome[] = [];
  let listedIssues = 0;
  let listedWarnings = 0;
  const start = (from: number, statementsBefore: number): OpenChunk => ({
    customerId,
    importId: id,
    from,
    to: from,
    last: false,
    movements: [],
    entries: [],
    issues: [],
    warnings: [],
    warned: 0,
    rejected: 0,
    statementsBefore,
    statements: 0,
    ended: [],
    format: null,
    removals: removedTime.removals,
    members: null,
  });
  let chunk = start(checkpoint, storedStatements);

  function reject(line: number, issues: readonly ValidationIssue[], isStored: boolean): void {
    listedIssues += issues.length;
    if (isStored) return;
    chunk.rejected += 1;
    if (listedIssues <= MAX_LISTED) chunk.issues.push(...issues.map((issue) => ({ ...issue, line })));
  }

  function warn(line: number, message: string): void {
    chunk.warned += 1;
    if (listedWarnings <= MAX_LISTED) chunk.warnings.push({ line, message });
  }

  /** Makes a row that came without a statement an entry. Null if the row has an id, or its account has no statements. */
  function toEntry(line: number, movement: Movement) {
    const { account_id, amount, balance } = movement;
    if (accounts?.get(account_id)?.has_statements !== 1 || !isUnidentified(movement)) return null;
    const statement = withoutStatement.get(account_id) ?? {
      kind: 'none',
      format: 'json',
      file: null,
      opening: null,
      closing: null,
    };
    withoutStatement.set(account_id, statement);
    const money = { amount: canonical(amount) ?? amount, balance: canonical(balance) };
    return {
      line,
      movement: { ...movement, ...money },
      reference: null,
      statement,
      details: { currency: null },
    };
  }

  return {
    isFullBefore: (next: Row) =>
      isEntry(next)
        ? chunk.to - chunk.from >= size.rows()
        : 'begun' in next && chunk.statements >= CHUNK_STATEMENTS,
    isEmpty: () => chunk.to === chunk.from && chunk.statements === 0,
    take(): Chunk {
      const taken = chunk;
      chunk = start(position, begun);
      return taken;
    },
    add(row: EntryRow): void {
      position += 1;
      const isStored = position <= checkpoint;
      if (!isStored) chunk.to = position;
      const checked = checkRow(row, accounts, removedTime);
      if ('issues' in checked) {
        reject(row.line, checked.issues, isStored);
        return;
      }
      const { movement } = checked;
      if (!('movement' in row))
        running.get(movement.account_id)?.add({ line: row.line, ...toMinorUnits(movement) });
      const entry = 'movement' in row ? { ...row, movement } : toEntry(row.line, movement);
      if (entry !== null) {
        const ordinal = ordinalOf(entry.movement);
        if (!isStored) chunk.entries.push(Object.assign(entry, { index: position - 1, ordinal }));
        return;
      }
      const uniqueId = uniqueIdOf(movement);
      if (!isStored) chunk.movements.push({ line: row.line, uniqueId, movement });
    },
    /** The results of the files of a zip; null: the file is no zip. */
    members: (): readonly MemberOutcome[] | null => (members.length === 0 ? null : members),
    /** Adds warnings about balances that contradict the rows. Called for the last chunk, which is never stored before this. */
    checkBalances(): void {
      for (const { line, warning } of [...running.values()].flatMap((it) => it.end().warnings))
        warn(line, warning);
    },
    /**
     * Adds what stands between two rows to the chunk of the first of them. At the checkpoint, that chunk is stored already. But the
     * beginning of a statement can begin a new chunk.
     */
    note(row: Exclude<Row, EntryRow>): void {
      if ('member' in row) {
        members.push(row.member);
        return;
      }
      if ('begun' in row) begun += 1;
      if (begun > MOST_STATEMENTS) throw new UnreadableFileError(TOO_MANY_STATEMENTS);
      if ('totals' in row && row.ended?.kind === 'final') {
        const day = `${row.ended.accountId} ${row.ended.to}`;
        const statements = (statementsOfDay.get(day) ?? 0) + 1;
        if (statements > MOST_STATEMENTS_OF_DAY) throw new UnreadableFileError(TOO_MANY_OF_DAY);
        statementsOfDay.set(day, statements);
      }
      const isStored =
        begun <= storedStatements && position <= checkpoint && checkpoint + storedStatements > 0;
      if ('warning' in row) listedWarnings += 1;
      if (isStored) return;
      if ('begun' in row) {
        chunk.statements += 1;
        chunk.format ??= row.begun.format;
      } else if ('totals' in row) {
        if (row.ended !== null) chunk.ended.push({ ...row.ended, line: row.line });
      } else warn(row.line, row.warning);
    },
  };
}

const toMinorUnits = ({ dc, amount, balance }: Movement) => ({
  dc,
  amount: parseThousandths(amount),
  balance: balance === null ? null : parseThousandths(balance),
});

type CheckedRow = { movement: Movement } | { issues: ValidationIssue[] };

function checkRow(row: EntryRow, accounts: KnownAccounts | null, removedTime: RemovedTime): CheckedRow {
  if ('issue' in row) {
    return { issues: row.issue === null ? [] : [{ path: row.path ?? '', message: row.issue }] };
  }
  const checked = validate(row);
  if ('issues' in checked) return checked;
  const { movement } = checked;
  if (accounts !== null) {
    const account = accounts.get(movement.account_id);
    if (account === undefined) return { issues: [UNKNOWN_ACCOUNT] };
    const issue = decimalsIssue(movement, account.currency);
    if (issue !== null) return { issues: [issue] };
  }
  if (isOfRemovedTime(movement, removedTime)) return { issues: [removedTimeIssue(removedTime)] };
  return { movement };
}

function validate(row: MovementRow): CheckedRow {
  const value = 'movement' in row ? row.movement : row.value;
  const result = v.safeParse(Movement, value, { abortPipeEarly: true });
  return result.success ? { movement: result.output } : { issues: result.issues.map(toValidationIssue) };
}
