import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { inTransaction, isAway, isPassing, type WriteResult } from '../database/transaction.ts';
import type { Log } from '../log.ts';
import type { Row } from './formats/format.ts';
import { FORMATS, isFormatName } from './formats/index.ts';
import { type Fault, Movement, toFault } from './movement.ts';
import { readPieces } from './pieces.ts';
import { type Chunk, ImportTakenOverError, storeChunk } from './store.ts';
import { createUniqueIds } from './unique-id.ts';

/** Rows per transaction: large enough to be fast, small enough that another import of the customer soon has its turn. */
const CHUNK_ROWS = 1_000;

/** A file of nothing but faults is listed up to here; `rejected` counts them all. */
const MAX_LISTED_FAULTS = 10_000;

export type ImportOutcome = 'done' | 'given back' | 'nothing to do';

/** Works off one staged import. Several may run at once, in any number of processes. */
export interface Importer {
  /**
   * Stores what is left of the import, chunk by chunk.
   * @param signal when aborted, the import is given back at the end of the chunk in hand.
   * @throws whatever MySQL throws; the import stays as it is and can be run again.
   */
  run(importId: string, signal: AbortSignal): Promise<ImportOutcome>;
}

interface Running {
  id: string;
  customer_id: string;
  format: string;
  bookmark: number;
  tries: number;
}

/** An import that was begun so often in a row without storing a chunk takes its process down with it, or cannot be read. */
const MAX_TRIES = 10;

const START = `
  UPDATE imports SET status = 'running', started_at = COALESCE(started_at, NOW(6)), tries = tries + 1
  WHERE id = ? AND status IN ('queued', 'running')`;
const LOAD = `SELECT id, customer_id, format, bookmark, tries FROM imports WHERE id = ? AND status = 'running'`;
const FORGET_TRY = 'UPDATE imports SET tries = tries - 1 WHERE id = ? AND tries > 0';
/** Its bytes are kept, so that it can be queued again once the cause is mended. */
const GIVE_UP = `
  UPDATE imports SET status = 'failed', finished_at = NOW(6), error = CONCAT('Reading on from row ', bookmark + 1,
    ' has failed ${MAX_TRIES} times in a row. The rows before it are stored, and what was sent is kept.')
  WHERE id = ? AND status = 'running'`;
const ACCOUNTS_OF_KEY = `
  SELECT a.id FROM imports i
  JOIN api_keys k ON k.id = i.api_key_id
  JOIN accounts a ON a.customer_id = i.customer_id
  LEFT JOIN api_key_accounts s ON s.api_key_id = k.id AND s.account_id = a.id
  WHERE i.id = ? AND (k.all_accounts = 1 OR s.account_id IS NOT NULL)`;
const FINISH = `
  UPDATE imports SET status = 'done', received = bookmark, finished_at = NOW(6)
  WHERE id = ? AND status = 'running' AND bookmark = ?`;
const DROP_PIECES = 'DELETE FROM import_pieces WHERE import_id = ?';

export function createImporter(options: {
  database: DataSource;
  /** Tells the pump of webhooks that are owed something. A failure is logged: the reconciler makes up for it. */
  wake: (webhookIds: readonly string[]) => Promise<void>;
  log: Log;
}): Importer {
  const { database, wake, log } = options;

  return {
    async run(importId, signal) {
      await database.query(START, [importId]);
      const [running] = await database.query<Running[]>(LOAD, [importId]);
      if (running === undefined) return 'nothing to do';
      if (running.tries > MAX_TRIES) {
        await database.query(GIVE_UP, [importId]);
        log.error({ importId }, 'import given up: it keeps failing at the same row');
        return 'nothing to do';
      }
      const accounts = await database.query<{ id: string }[]>(ACCOUNTS_OF_KEY, [importId]);
      const chunks = readChunks(
        running,
        new Set(accounts.map(({ id }) => id)),
        readPieces(database, importId),
      );

      let bookmark = running.bookmark;
      try {
        // The next chunk is read and checked while MySQL stores the one before.
        for (let next = chunks.next(); ; ) {
          const { value: chunk, done } = await next;
          if (done) break;
          next = chunks.next();
          next.catch(() => {}); // Reported when it is awaited, also if storing fails first.
          const { webhookIds } = await storeChunk(database, chunk);
          bookmark = chunk.to;
          await wake(webhookIds).catch((err: unknown) => log.warn({ err, importId }, 'webhooks not woken'));
          if (signal.aborted) return 'given back';
        }
      } catch (error) {
        if (error instanceof ImportTakenOverError) return 'nothing to do';
        // An outage, or another one's locks, say nothing about the import.
        if (isAway(error) || isPassing(error)) await database.query(FORGET_TRY, [importId]).catch(() => {});
        throw error;
      }
      const finished = await inTransaction(database, async (sql) => {
        const { affectedRows } = await sql.query<WriteResult>(FINISH, [importId, bookmark]);
        if (affectedRows === 1) await sql.query(DROP_PIECES, [importId]);
        return affectedRows === 1;
      });
      if (!finished) return 'nothing to do';
      log.info({ importId, rows: bookmark }, 'import done');
      return 'done';
    },
  };
}

/** Cuts an import into chunks, leaving out those that an earlier run has stored. */
async function* readChunks(
  { id, customer_id, format, bookmark }: Running,
  accounts: ReadonlySet<string>,
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<Chunk, void> {
  if (!isFormatName(format)) throw new Error(`import ${id} has the unknown format ${format}`);
  const uniqueIdOf = createUniqueIds();
  const start = (from: number): Chunk => ({
    importId: id,
    customerId: customer_id,
    from,
    to: from,
    movements: [],
    faults: [],
    rejected: 0,
  });
  let position = 0;
  let listedFaults = 0;
  let chunk = start(bookmark);
  for await (const rows of FORMATS[format](pieces)) {
    for (const row of rows) {
      const checked = checkRow(row, accounts);
      const uniqueId = 'movement' in checked ? uniqueIdOf(checked.movement) : '';
      if ('faults' in checked) listedFaults += checked.faults.length;
      position += 1;
      if (position <= bookmark) continue;
      chunk.to = position;
      if ('movement' in checked) {
        chunk.movements.push({ uniqueId, movement: checked.movement });
      } else {
        chunk.rejected += 1;
        if (listedFaults <= MAX_LISTED_FAULTS) {
          chunk.faults.push(...checked.faults.map((fault) => ({ ...fault, line: row.line })));
        }
      }
      if (chunk.to - chunk.from >= CHUNK_ROWS) {
        yield chunk;
        chunk = start(position);
      }
    }
  }
  if (chunk.to > chunk.from) yield chunk;
}

function checkRow(row: Row, accounts: ReadonlySet<string>): { movement: Movement } | { faults: Fault[] } {
  if ('fault' in row) return { faults: [{ path: '', message: row.fault }] };
  const result = v.safeParse(Movement, row.value);
  if (!result.success) return { faults: result.issues.map(toFault) };
  if (!accounts.has(result.output.account_id)) return { faults: [UNKNOWN_ACCOUNT] };
  return { movement: result.output };
}

/** Another customer's account is as unknown as one that does not exist. */
export const UNKNOWN_ACCOUNT: Fault = { path: 'account_id', message: 'is not one of your accounts' };
