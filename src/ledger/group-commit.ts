import { LRUCache } from 'lru-cache';
import type { DataSource } from 'typeorm';
import { isConnectionError, isRetryableLockError } from '../database/errors.ts';
import { type Sql, tryTransaction, type WriteResult } from '../database/transaction.ts';
import { type BatcherOptions, createLateBatcher, type TakeItems } from '../platform/batcher.ts';
import type { Log } from '../platform/log.ts';
import type { ImportMetrics } from '../platform/metrics.ts';
import {
  type Batch,
  countAll,
  fatesOf,
  type ImportLock,
  listRows,
  lockCustomers,
  storeBatches,
} from './append.ts';
import { reportConflicts } from './conflicts.ts';
import { type EarlierUpload, findEarlierUpload } from './earlier-uploads.ts';
import { type GroupImport, type GroupUpload, toRow, viewStored } from './group-import.ts';
import { createMatcher, type Matches } from './matching.ts';
import { createUniqueIds } from './movement.ts';
import { SENDER_COLUMNS } from './sender.ts';

/** A larger import is staged, because other imports would wait too long for it. */
export const MAX_GROUP_MOVEMENTS = 100;

/** Most movements of a customer that may wait to be stored. Imports beyond that are staged. */
const MAX_WAITING = 500;

/** Most imports in one transaction, and most movements of all of them. */
const MAX_IMPORTS = 500;
const MAX_MOVEMENTS = 1_000;

/**
 * Stores a small import without staging it first, and wakes the webhooks that match.
 * @returns null when that is not possible now. Nothing was stored, and the caller stages the import.
 * @throws when MySQL is unreachable. If the response to COMMIT was lost, the import may have been stored. Sending it again does not
 * store its movements twice.
 */
type StoreInGroup = (
  upload: GroupUpload,
) => Promise<({ outcome: 'stored' } & GroupImport) | EarlierUpload | null>;

const ADD_IMPORTS = `
  /* ADD_IMPORTS */ INSERT INTO imports (customer_id, ${SENDER_COLUMNS}, format, status, idempotency_key, traceparent, body_hash, checkpoint, received,
    inserted, deliveries, received_at, started_at, finished_at, first_readed, last_readed) VALUES ?`;

/** The system variables that decide which ids the rows of one INSERT get. */
const ID_SETTINGS = "SHOW VARIABLES WHERE Variable_name IN ('auto_increment_increment', 'wsrep_on')";

/** Until the transaction ends, no other process stores a group for all customers. */
const TAKE_COMMIT_TURN = '/* TAKE_COMMIT_TURN */ SELECT id FROM group_commits WHERE id = 1 FOR UPDATE';

/** Adds the rows of imports. @returns their ids, in the same order. */
async function addImports(sql: Sql, rows: readonly unknown[][], step: number | null): Promise<string[]> {
  const ids: string[] = [];
  for (const part of step === null ? rows.map((row) => [row]) : [rows]) {
    const { insertId } = await sql.query<WriteResult>(ADD_IMPORTS, [part]);
    ids.push(...part.map((_, index) => String(Number(insertId) + index * (step ?? 0))));
  }
  return ids;
}

/** Milliseconds for which shared groups avoid a lock after a lock timeout. */
const AVOIDED_FOR = 10_000;

/** The most customers that shared groups avoid at the same time. */
const MAX_AVOIDED = 10_000;

/** Corrects the row of an import with known movements. */
const CORRECT_IMPORT = `
  /* CORRECT_IMPORT */ UPDATE imports SET inserted = ?, duplicates = ?, changed = ?, assumed_duplicates = ?, conflicts = ?, deliveries = ? WHERE id = ?`;

/**
 * Stores imports that arrive at the same time in one transaction, for all customers. The processes take turns, because each would
 * otherwise leave out the customers that another process has locked. A group leaves out a customer that is locked elsewhere, for
 * example by the importer with a large file. That customer's imports wait in their own group.
 */
export function createGroupCommit(options: {
  database: DataSource;
  /** Wakes matched webhooks. A failure is logged, and the reconciler wakes them later. */
  wake: (webhookIds: readonly string[]) => Promise<void>;
  log: Log;
  metrics?: ImportMetrics;
}): StoreInGroup {
  const { database, wake, log, metrics } = options;
  const matcher = createMatcher();
  const waiting = new Map<string, number>();
  /** Customers whose rows were locked for too long. Their imports go to groups of their own. */
  const lockedCustomers = new LRUCache<string, true>({ max: MAX_AVOIDED, ttl: AVOIDED_FOR });
  /** The process takes turns again from this moment (performance.now()). */
  let turnsFrom = 0;
  let idStep: Promise<number | null> | null = null;

  /**
   * Reads the distance between the ids of the rows of one INSERT: MySQL gives them consecutive ids, `auto_increment_increment`
   * apart ("InnoDB AUTO_INCREMENT Lock Modes"). Null if the distance is not known, because a Galera cluster changes it whenever a
   * node joins or leaves.
   */
  const readIdStep = () => {
    idStep ??= database.query<{ Variable_name: string; Value: string }[]>(ID_SETTINGS).then((rows) => {
      const settings = new Map(rows.map(({ Variable_name, Value }) => [Variable_name, Value]));
      return settings.get('wsrep_on') === 'ON' ? null : Number(settings.get('auto_increment_increment'));
    });
    idStep.catch(() => {
      idStep = null;
    });
    return idStep;
  };

  function count(stored: Iterable<GroupImport>): void {
    const all = [...stored];
    for (const it of all) metrics?.rows({ ...it, rejected: 0 });
    metrics?.ended('json', 'done', all.length);
  }

  /** Waits for this process's turn. Gives up waiting for a process that was stopped during its turn. */
  async function takeTurn(sql: Sql): Promise<void> {
    if (performance.now() < turnsFrom) return;
    try {
      await sql.query(TAKE_COMMIT_TURN);
    } catch (err) {
      if (!isRetryableLockError(err)) throw err;
      turnsFrom = performance.now() + AVOIDED_FOR;
      log.warn(
        { err },
        'another process has not ended its group commit: group commits do not take turns for 10 s',
      );
    }
  }

  /**
   * @param take the uploads, once it is the process's turn.
   * @param isShared the group is for all customers, except customers that are locked elsewhere.
   * @returns one result per upload, in order. null: the customer is locked elsewhere, or the upload has to be checked again.
   */
  async function store(
    take: TakeItems<GroupUpload>,
    { isShared }: { isShared: boolean },
  ): Promise<(GroupImport | null)[]> {
    const step = await readIdStep();
    let uploads: readonly GroupUpload[] = [];
    const { imports, webhookIds } = await tryTransaction(database, async (sql) => {
      if (isShared) await takeTurn(sql);
      uploads = take();
      const customerIds = [...new Set(uploads.map(({ customerId }) => customerId))];
      const locks = await lockCustomers(sql, customerIds, { skipLocked: isShared });
      const current = uploads.filter(
        ({ customerId, removals }) => locks.get(customerId)?.removals === removals,
      );
      return storeLocked(sql, locks, current, step);
    });
    count(imports.values());
    // Not awaited: the movements are committed, and are delivered even if the wake-up is lost.
    wake(webhookIds).catch((err: unknown) => log.warn({ err }, 'webhooks not woken'));
    return uploads.map((upload) => imports.get(upload) ?? null);
  }

  async function storeLocked(
    sql: Sql,
    locks: ReadonlyMap<string, ImportLock>,
    uploads: readonly GroupUpload[],
    step: number | null,
  ): Promise<{ imports: Map<GroupUpload, GroupImport>; webhookIds: string[] }> {
    const imports = new Map<GroupUpload, GroupImport>();
    if (uploads.length === 0) return { imports, webhookIds: [] };
    // Matches webhooks first, as if all movements were new, so that an import without known movements is written only once.
    const provisional = uploads.map((upload, index) => toBatch(upload, String(index)));
    const expected = await matcher.match(sql, locks, countAll(provisional));
    const rows = uploads.map((upload, index) => toRow(upload, locks, expected.deliveries.get(String(index))));
    const ids = await addImports(sql, rows, step);
    const batches = uploads.map((upload, index) => toBatch(upload, ids[index] ?? ''));
    const renamed: Matches = {
      webhooks: expected.webhooks,
      deliveries: new Map(ids.map((id, index) => [id, expected.deliveries.get(String(index)) ?? 0])),
    };
    const stored = await storeBatches(sql, matcher, locks, batches, { expected: renamed });
    await listRows(sql, stored.listed);
    for (const [index, upload] of uploads.entries()) {
      const it = viewStored(upload, ids[index] ?? '', stored, locks);
      if (fatesOf(it.importId, stored).length > 0) {
        const { inserted, duplicates, changed, assumed, conflicts, deliveries, importId } = it;
        const values = [inserted, duplicates, changed, assumed, conflicts, deliveries, importId];
        await sql.query(CORRECT_IMPORT, values);
      }
      imports.set(upload, it);
    }
    if (stored.listed.length > 0)
      for (const [{ customerId }, { importId }] of imports)
        await reportConflicts(sql, { customerId, importId }, stored.listed);
    return { imports, webhookIds: stored.webhookIds };
  }

  const limits: BatcherOptions<GroupUpload> = {
    maxItems: MAX_IMPORTS,
    maxWeight: MAX_MOVEMENTS,
    weigh: ({ movements }: GroupUpload) => movements.length,
    // If MySQL refuses one upload, each is stored alone. After a lock timeout they are not, so that a lock is waited for only once.
    afterFailure: (error: unknown) =>
      isConnectionError(error) || isRetryableLockError(error) ? 'fail' : 'alone',
  };
  const storeShared = createLateBatcher(
    (take: TakeItems<GroupUpload>) => store(take, { isShared: true }),
    limits,
  );
  /** Batchers for customers whose rows are locked elsewhere. A batcher exists only while uploads wait for it. */
  const customerBatchers = new Map<string, (upload: GroupUpload) => Promise<GroupImport | null>>();

  async function storeByCustomer(upload: GroupUpload): Promise<GroupImport | null> {
    const { customerId } = upload;
    const batcher =
      customerBatchers.get(customerId) ??
      createLateBatcher((take: TakeItems<GroupUpload>) => store(take, { isShared: false }), limits);
    customerBatchers.set(customerId, batcher);
    try {
      return await batcher(upload);
    } catch (err) {
      if (isRetryableLockError(err)) lockedCustomers.set(customerId, true);
      throw err;
    } finally {
      if ((waiting.get(customerId) ?? 0) <= weightOf(upload)) customerBatchers.delete(customerId);
    }
  }

  /** A lock timeout may be about only one customer. Returns null, so that each customer waits for its own rows. */
  function afterLock(error: unknown): null {
    if (isRetryableLockError(error)) return null;
    throw error;
  }

  async function storeWithinLimit(upload: GroupUpload): Promise<GroupImport | null> {
    const { customerId } = upload;
    const weight = weightOf(upload);
    const before = waiting.get(customerId) ?? 0;
    if (before + weight > MAX_WAITING) return null;
    waiting.set(customerId, before + weight);
    try {
      const stored = lockedCustomers.has(customerId) ? null : await storeShared(upload).catch(afterLock);
      return stored ?? (await storeByCustomer(upload));
    } finally {
      const left = (waiting.get(customerId) ?? 0) - weight;
      if (left > 0) waiting.set(customerId, left);
      else waiting.delete(customerId);
    }
  }

  return async function storeInGroup(upload) {
    const { idempotencyKey } = upload;
    const replay = idempotencyKey === null ? null : await findEarlierUpload(database, idempotencyKey, upload);
    if (replay !== null) return replay;
    try {
      const stored = await storeWithinLimit(upload);
      if (stored === null) return null;
      log.info({ importId: stored.importId, rows: upload.movements.length }, 'import done');
      return { outcome: 'stored', ...stored };
    } catch (err) {
      if (isConnectionError(err)) throw err;
      // A lock timeout, or a value that MySQL refuses. Once staged, the import is retried, and is `failed` if the error persists.
      log.info({ err }, 'import not stored by group commit');
      return null;
    }
  };
}

/** An import without movements has the weight 1, because its row has to be stored too. */
const weightOf = ({ movements }: GroupUpload): number => Math.max(1, movements.length);

function toBatch({ customerId, movements, unidentified }: GroupUpload, importId: string): Batch {
  const uniqueIdOf = createUniqueIds(unidentified === 'store' ? importId : undefined);
  return {
    customerId,
    importId,
    movements: movements.map((movement, index) => ({
      line: index + 1,
      uniqueId: uniqueIdOf(movement),
      movement,
    })),
  };
}
