import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { isAway, type Sql, tryTransaction } from '../database/transaction.ts';
import type { Log } from '../log.ts';
import { createLanes } from './lanes.ts';
import type { Movement } from './movement.ts';
import { findReplay, openImport, type Replay, type Upload } from './stage.ts';
import { type Chunk, storeChunks } from './store.ts';
import { createUniqueIds } from './unique-id.ts';

/** An import of more movements is staged: others of its customer would wait for it too long. */
export const MOST_AT_ONCE = 100;

/** So many movements of a customer may wait for the transaction under way, and then go into the next one. */
const MOST_WAITING = 500;

/** An import that is there as a whole, with its movements checked. */
export interface SmallUpload extends Upload {
  body: readonly Uint8Array[];
  movements: readonly Movement[];
}

/** `woken` resolves when the webhooks are woken, or the reconciler is left to do so. */
export type AtOnce = { outcome: 'stored'; importId: string; woken: Promise<void> } | Replay;

/**
 * Stores a small import, and what is owed for it, without staging it first, and wakes the webhooks.
 * @returns null when that is not possible now, and nothing of it was stored: it is to be staged.
 * @throws when MySQL is away. Where the answer to COMMIT was lost it may have been stored; sent again, it is stored once.
 */
export type StoreAtOnce = (upload: SmallUpload) => Promise<AtOnce | null>;

/** Imports of one customer that come at the same time go together, in one transaction. */
export function createAtOnce(options: {
  database: DataSource;
  /** Tells the pump of webhooks that are owed something. A failure is logged: the reconciler makes up for it. */
  wake: (webhookIds: readonly string[]) => Promise<void>;
  log: Log;
}): StoreAtOnce {
  const { database, wake, log } = options;

  const join = createLanes(MOST_WAITING, async (customerId, uploads: readonly SmallUpload[]) => {
    const { chunks, webhookIds } = await tryTransaction(database, (sql) =>
      storeUploads(sql, customerId, uploads),
    );
    const woken = wake(webhookIds).catch((err: unknown) => log.warn({ err }, 'webhooks not woken'));
    // The next group is stored meanwhile.
    return chunks.map(({ importId }) => ({ importId, woken }));
  });

  return async function storeAtOnce(upload) {
    const replay = await findReplay(database, upload);
    if (replay !== null) return replay;
    try {
      // An import without movements is one to be stored, too.
      const stored = await join(upload.customerId, upload, Math.max(1, upload.movements.length));
      if (stored === null) return null;
      log.info({ importId: stored.importId, rows: upload.movements.length }, 'import done');
      return { outcome: 'stored', ...stored };
    } catch (err) {
      if (isAway(err)) throw err;
      // A lock that somebody holds, or a value that MySQL refuses: an importer repeats what passes, and isolates the rest.
      log.info({ err }, 'import not stored at once');
      return null;
    }
  };
}

async function storeUploads(sql: Sql, customerId: string, uploads: readonly SmallUpload[]) {
  const chunks: Chunk[] = [];
  for (const upload of uploads) {
    const hash = createHash('sha256');
    for (const part of upload.body) hash.update(part);
    const importId = await openImport(sql, upload, hash.digest('hex'));
    chunks.push(toChunk(importId, upload.movements));
  }
  return { chunks, webhookIds: await storeChunks(sql, customerId, chunks) };
}

function toChunk(importId: string, movements: readonly Movement[]): Chunk {
  const uniqueIdOf = createUniqueIds();
  return {
    importId,
    from: 0,
    to: movements.length,
    last: true,
    movements: movements.map((movement) => ({ uniqueId: uniqueIdOf(movement), movement })),
    faults: [],
    rejected: 0,
  };
}
