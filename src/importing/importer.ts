import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { createBatcher } from '../batcher.ts';
import { isConnectionError, isRetryableLockError } from '../database/transaction.ts';
import type { Log } from '../log.ts';
import { toValidationIssue, type ValidationIssue } from '../validation.ts';
import type { Row } from './formats/format.ts';
import { FORMATS, isFormatName } from './formats/index.ts';
import { createMatcher } from './matching.ts';
import { Movement } from './movement.ts';
import { readPart, readParts } from './parts.ts';
import { type Chunk, ImportTakenOverError, storeChunk } from './store.ts';
import { createUniqueIds } from './unique-id.ts';

/** Rows per transaction: many enough to be fast, few enough that other imports of the customer do not wait long. */
const CHUNK_ROWS = 1_000;

/** Most issues that are listed for one import. `rejected` counts all rejected rows. */
const MAX_LISTED_ISSUES = 10_000;

export type ImportOutcome = 'done' | 'given back' | 'nothing to do';

/** Stores staged imports. Several may run at the same time, in any number of processes. */
export interface Importer {
  /**
   * Stores the rest of the import, chunk by chunk.
   * @param signal when aborted, the import is given back after the current chunk.
   * @param again an earlier run of the same job did not end: this import may have crashed its process.
   * @throws whatever MySQL throws. The import stays as it is and can be run again.
   */
  run(importId: string, signal: AbortSignal, again?: boolean): Promise<ImportOutcome>;
}

interface Unfinished {
  id: string;
  customer_id: string;
  format: string;
  checkpoint: number;
  crash_count: number;
}

/** An import fails after this many runs in a row that stored no chunk: it crashes its process, or cannot be read. */
const MAX_CRASHES = 10;

const COUNT_CRASH = `UPDATE imports SET crash_count = crash_count + 1 WHERE id = ? AND status IN ('queued', 'running')`;
const LOAD = `
  SELECT id, customer_id, format, checkpoint, crash_count FROM imports WHERE id = ? AND status IN ('queued', 'running')`;
/** The staged parts are kept, so that the import can be queued again once the cause is fixed. */
const GIVE_UP = `
  UPDATE imports SET status = 'failed', finished_at = NOW(6), error = CONCAT('Reading on from row ', checkpoint + 1,
    ' has failed ${MAX_CRASHES} times in a row. The rows before it are stored, and what was sent is kept.')
  WHERE id = ? AND status IN ('queued', 'running')`;
const ACCOUNTS_OF_KEY = `
  SELECT a.id FROM imports i
  JOIN api_keys k ON k.id = i.api_key_id
  JOIN accounts a ON a.customer_id = i.customer_id
  LEFT JOIN api_key_accounts s ON s.api_key_id = k.id AND s.account_id = a.id
  WHERE i.id = ? AND (k.all_accounts = 1 OR s.account_id IS NOT NULL)`;

export function createImporter(options: {
  database: DataSource;
  /** Wakes matched webhooks. A failure is logged, and the reconciler wakes them later. */
  wake: (webhookIds: readonly string[]) => Promise<void>;
  log: Log;
}): Importer {
  const { database, wake, log } = options;
  const matcher = createMatcher();

  return {
    async run(importId, signal, again = false) {
      const started = performance.now();
      if (again) await database.query(COUNT_CRASH, [importId]);
      // In parallel: an import of one movement mostly waits for round trips to MySQL.
      const [[unfinished], accounts, first] = await Promise.all([
        database.query<Unfinished[]>(LOAD, [importId]),
        database.query<{ id: string }[]>(ACCOUNTS_OF_KEY, [importId]),
        readPart(database, importId, 0),
      ]);
      if (unfinished === undefined) return 'nothing to do';
      if (unfinished.crash_count >= MAX_CRASHES) {
        await database.query(GIVE_UP, [importId]);
        log.error({ importId }, 'import given up: it keeps failing at the same row');
        return 'nothing to do';
      }
      // Chunks are stored faster than a thousand webhooks are woken. Those that wait are woken together, each webhook once.
      const wakeMatched = createBatcher(async (matched: readonly (readonly string[])[]) => {
        await wake([...new Set(matched.flat())]).catch((err: unknown) =>
          log.warn({ err, importId }, 'webhooks not woken'),
        );
        return [...matched];
      });
      const chunks = readChunks(
        unfinished,
        new Set(accounts.map(({ id }) => id)),
        readParts(database, importId, first),
      );

      try {
        // The next chunk is read and validated while MySQL stores this one.
        for (let next = chunks.next(); ; ) {
          const { value: chunk, done } = await next;
          if (done) return 'done';
          next = chunks.next();
          // If storing fails first, `next` is never awaited, and its error must not become an unhandled rejection.
          next.catch(() => {});
          const runningFor = performance.now() - started;
          const webhookIds = await storeChunk({ database, matcher }, chunk, runningFor);
          const woken = wakeMatched(webhookIds);
          if (chunk.last) log.info({ importId, rows: chunk.to }, 'import done');
          if (chunk.last || signal.aborted) await woken;
          if (signal.aborted && !chunk.last) return 'given back';
        }
      } catch (error) {
        if (error instanceof ImportTakenOverError) return 'nothing to do';
        // Connection errors and lock errors are not caused by the import, and do not count as crashes.
        if (!isConnectionError(error) && !isRetryableLockError(error))
          await database.query(COUNT_CRASH, [importId]).catch(() => {});
        throw error;
      }
    },
  };
}

/** Cuts an import into chunks, and leaves out the rows before its checkpoint. The last chunk may be empty. */
async function* readChunks(
  { id, customer_id, format, checkpoint }: Unfinished,
  accounts: ReadonlySet<string>,
  parts: AsyncIterable<Buffer>,
): AsyncGenerator<Chunk, void> {
  if (!isFormatName(format)) throw new Error(`import ${id} has the unknown format ${format}`);
  const uniqueIdOf = createUniqueIds();
  const start = (from: number) => ({
    customerId: customer_id,
    importId: id,
    from,
    to: from,
    last: false,
    movements: [] as Chunk['movements'][number][],
    issues: [] as Chunk['issues'][number][],
    rejected: 0,
  });
  let position = 0;
  let listedIssues = 0;
  let chunk = start(checkpoint);
  for await (const rows of FORMATS[format](parts)) {
    for (const row of rows) {
      // A full chunk is yielded only when another row follows: until then it may be the last one.
      if (chunk.to - chunk.from >= CHUNK_ROWS) {
        yield chunk;
        chunk = start(position);
      }
      const checked = checkRow(row, accounts);
      const uniqueId = 'movement' in checked ? uniqueIdOf(checked.movement) : '';
      if ('issues' in checked) listedIssues += checked.issues.length;
      position += 1;
      if (position <= checkpoint) continue;
      chunk.to = position;
      if ('movement' in checked) {
        chunk.movements.push({ uniqueId, movement: checked.movement });
      } else {
        chunk.rejected += 1;
        if (listedIssues <= MAX_LISTED_ISSUES) {
          chunk.issues.push(...checked.issues.map((issue) => ({ ...issue, line: row.line })));
        }
      }
    }
  }
  yield { ...chunk, last: true };
}

function checkRow(
  row: Row,
  accounts: ReadonlySet<string>,
): { movement: Movement } | { issues: ValidationIssue[] } {
  if ('issue' in row) return { issues: [{ path: '', message: row.issue }] };
  const result = v.safeParse(Movement, row.value, { abortPipeEarly: true });
  if (!result.success) return { issues: result.issues.map(toValidationIssue) };
  if (!accounts.has(result.output.account_id)) return { issues: [UNKNOWN_ACCOUNT] };
  return { movement: result.output };
}

/** The issue is the same for another customer's account and for one that does not exist. */
export const UNKNOWN_ACCOUNT: ValidationIssue = {
  path: 'account_id',
  message: 'is not one of your accounts',
};
