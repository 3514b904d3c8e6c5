import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { createBatcher } from '../batcher.ts';
import {
  isConnectionError,
  isRetryableLockError,
  type Sql,
  tryTransaction,
  type WriteResult,
} from '../database/transaction.ts';
import type { Log } from '../log.ts';
import { type ImportLock, lockCustomers } from './import-locks.ts';
import { createMatcher, type Matches } from './matching.ts';
import type { Movement } from './movement.ts';
import { findReplay, type Replay, type Upload } from './stage.ts';
import { type Batch, countAll, type Stored, storeBatches } from './store.ts';
import { createUniqueIds } from './unique-id.ts';

/** An import of more movements is staged: others would wait for it too long. */
export const MAX_INLINE = 100;

/** So many movements of a customer may wait to be stored; what comes then is staged. */
const MAX_WAITING = 500;

/** Imports, and movements of all of them together, that go into one transaction. */
const MAX_IMPORTS = 500;
const MAX_MOVEMENTS = 1_000;

/** An import that is there as a whole, with its movements checked. */
export interface InlineUpload extends Upload {
  body: readonly Uint8Array[];
  movements: readonly Movement[];
}

/** An import that is stored, as it stands in its table. */
export interface InlineImport {
  importId: string;
  received: number;
  inserted: number;
  duplicates: number;
  deliveries: number;
  storedAt: Date;
}

/**
 * Stores a small import without staging it first, and wakes the webhooks that match.
 * @returns null when that is not possible now, and nothing of it was stored: it is to be staged.
 * @throws when MySQL is away. Where the answer to COMMIT was lost it may have been stored; sent again, it is stored once.
 */
export type StoreInline = (
  upload: InlineUpload,
) => Promise<({ outcome: 'stored' } & InlineImport) | Replay | null>;

const ADD_IMPORTS = `
  INSERT INTO imports (customer_id, api_key_id, format, status, idempotency_key, body_hash, checkpoint, received, inserted,
    deliveries, received_at, started_at, finished_at) VALUES ?`;

/** MySQL gives the rows of one INSERT consecutive ids, `auto_increment_increment` apart ("InnoDB AUTO_INCREMENT Lock Modes"). */
const ID_STEP = 'SELECT @@auto_increment_increment AS step';

/** Not all of its movements were new. */
const CORRECT_IMPORT = 'UPDATE imports SET inserted = ?, duplicates = ?, deliveries = ? WHERE id = ?';

/**
 * Imports that come at the same time are stored in one transaction, those of all customers together. A customer that somebody else
 * has locked, such as the importer with a large file, is left out of it: its imports wait apart from the others'.
 */
export function createInlineImports(options: {
  database: DataSource;
  /** Has matched webhooks looked at. A failure is logged: the reconciler makes up for it. */
  wake: (webhookIds: readonly string[]) => Promise<void>;
  log: Log;
}): StoreInline {
  const { database, wake, log } = options;
  const matcher = createMatcher();
  const waiting = new Map<string, number>();
  let step: Promise<number> | null = null;

  const readStep = () => {
    step ??= database.query<{ step: string }[]>(ID_STEP).then(([row]) => Number(row?.step ?? 1));
    step.catch(() => {
      step = null;
    });
    return step;
  };

  /** @returns for each the import; null where its customer is locked. */
  async function store(
    uploads: readonly InlineUpload[],
    { skipLocked }: { skipLocked: boolean },
  ): Promise<(InlineImport | null)[]> {
    const idStep = await readStep();
    const { imports, webhookIds } = await tryTransaction(database, async (sql) => {
      const customerIds = [...new Set(uploads.map(({ customerId }) => customerId))];
      const locks = await lockCustomers(sql, customerIds, { skipLocked });
      const locked = uploads.filter(({ customerId }) => locks.has(customerId));
      return storeLocked(sql, locks, locked, idStep);
    });
    // Nobody waits for it: what is stored will be sent, also if the wake-up is lost.
    wake(webhookIds).catch((err: unknown) => log.warn({ err }, 'webhooks not woken'));
    return uploads.map((upload) => imports.get(upload) ?? null);
  }

  async function storeLocked(
    sql: Sql,
    locks: ReadonlyMap<string, ImportLock>,
    uploads: readonly InlineUpload[],
    idStep: number,
  ): Promise<{ imports: Map<InlineUpload, InlineImport>; webhookIds: string[] }> {
    const imports = new Map<InlineUpload, InlineImport>();
    if (uploads.length === 0) return { imports, webhookIds: [] };
    // The webhooks are matched first, as if all movements were new, so that an import is written once.
    const provisional = uploads.map((upload, index) => toBatch(upload, String(index)));
    const expected = await matcher.match(sql, locks, countAll(provisional));
    const rows = uploads.map((upload, index) => toRow(upload, locks, expected.deliveries.get(String(index))));
    const { insertId } = await sql.query<WriteResult>(ADD_IMPORTS, [rows]);
    const ids = uploads.map((_, index) => String(Number(insertId) + index * idStep));
    const batches = provisional.map((batch, index) => ({ ...batch, importId: ids[index] ?? '' }));
    const renamed: Matches = {
      webhooks: expected.webhooks,
      deliveries: new Map(ids.map((id, index) => [id, expected.deliveries.get(String(index)) ?? 0])),
    };
    const stored = await storeBatches(sql, matcher, locks, batches, renamed);
    for (const [index, upload] of uploads.entries()) {
      const it = viewStored(upload, ids[index] ?? '', stored, locks);
      if (it.duplicates > 0) {
        await sql.query(CORRECT_IMPORT, [it.inserted, it.duplicates, it.deliveries, it.importId]);
      }
      imports.set(upload, it);
    }
    return { imports, webhookIds: stored.webhookIds };
  }

  const limits = {
    maxItems: MAX_IMPORTS,
    maxWeight: MAX_MOVEMENTS,
    weigh: ({ movements }: InlineUpload) => movements.length,
    // Of those that waited for a lock in vain each would wait as long again.
    retryAlone: (error: unknown) => !isConnectionError(error) && !isRetryableLockError(error),
  };
  const storeTogether = createBatcher(
    (uploads: readonly InlineUpload[]) => store(uploads, { skipLocked: true }),
    limits,
  );
  /** By customer; each is there for as long as something waits for it. */
  const apart = new Map<string, (upload: InlineUpload) => Promise<InlineImport | null>>();

  async function storeApart(upload: InlineUpload): Promise<InlineImport | null> {
    const { customerId } = upload;
    const join =
      apart.get(customerId) ??
      createBatcher((uploads: readonly InlineUpload[]) => store(uploads, { skipLocked: false }), limits);
    apart.set(customerId, join);
    try {
      return await join(upload);
    } finally {
      if ((waiting.get(customerId) ?? 0) <= weightOf(upload)) apart.delete(customerId);
    }
  }

  async function storeCounted(upload: InlineUpload): Promise<InlineImport | null> {
    const { customerId } = upload;
    const weight = weightOf(upload);
    const before = waiting.get(customerId) ?? 0;
    if (before + weight > MAX_WAITING) return null;
    waiting.set(customerId, before + weight);
    try {
      const together = apart.has(customerId) ? null : await storeTogether(upload);
      return together ?? (await storeApart(upload));
    } finally {
      const left = (waiting.get(customerId) ?? 0) - weight;
      if (left > 0) waiting.set(customerId, left);
      else waiting.delete(customerId);
    }
  }

  return async function storeInline(upload) {
    const replay = await findReplay(database, upload);
    if (replay !== null) return replay;
    try {
      const stored = await storeCounted(upload);
      if (stored === null) return null;
      log.info({ importId: stored.importId, rows: upload.movements.length }, 'import done');
      return { outcome: 'stored', ...stored };
    } catch (err) {
      if (isConnectionError(err)) throw err;
      // A lock that somebody holds, or a value that MySQL refuses: an importer repeats what passes, and isolates the rest.
      log.info({ err }, 'import not stored inline');
      return null;
    }
  };
}

/** An import without movements is one to be stored, too. */
const weightOf = ({ movements }: InlineUpload): number => Math.max(1, movements.length);

function toBatch({ customerId, movements }: InlineUpload, importId: string): Batch {
  const uniqueIdOf = createUniqueIds();
  return {
    customerId,
    importId,
    movements: movements.map((movement) => ({ uniqueId: uniqueIdOf(movement), movement })),
  };
}

function toRow(
  { customerId, apiKeyId, format, idempotencyKey, body, movements }: InlineUpload,
  locks: ReadonlyMap<string, ImportLock>,
  deliveries = 0,
): unknown[] {
  const count = movements.length;
  const at = locks.get(customerId)?.dateReaded;
  const counts = [count, count, count, deliveries];
  return [
    customerId,
    apiKeyId,
    format,
    'done',
    idempotencyKey,
    hashOf(idempotencyKey, body),
    ...counts,
    at,
    at,
    at,
  ];
}

/** Only a request with the same key is ever compared with this one. */
function hashOf(idempotencyKey: string | null, body: readonly Uint8Array[]): Buffer | null {
  if (idempotencyKey === null) return null;
  const hash = createHash('sha256');
  for (const part of body) hash.update(part);
  return hash.digest();
}

function viewStored(
  { customerId, movements }: InlineUpload,
  importId: string,
  stored: Stored,
  locks: ReadonlyMap<string, ImportLock>,
): InlineImport {
  const inserted = stored.inserted.get(importId) ?? 0;
  return {
    importId,
    received: movements.length,
    inserted,
    duplicates: movements.length - inserted,
    deliveries: stored.deliveries.get(importId) ?? 0,
    storedAt: new Date(`${locks.get(customerId)?.dateReaded.replace(' ', 'T').slice(0, 23)}Z`),
  };
}
