import type { DataSource } from 'typeorm';
import { recordChange } from '../customers/audit.ts';
import { apiKeyOf, type Caller, visibleAccounts } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { cutTo } from '../database/text-columns.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { findRecorded, recordEvent } from '../delivery/operational-event.ts';
import { SENDER_NAME } from '../ledger/sender.ts';
import { cutPage, type Page } from '../platform/page.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { queueImports } from '../platform/queues.ts';

/** Finds imports, for the API and for the console. */

export const IMPORT_STATUSES = ['queued', 'running', 'done', 'failed'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

/** A row of `imports`, with the names of the rows that it refers to. */
export interface ImportRow {
  id: string;
  customer_id: string;
  customer: string;
  /** The name of the API key, or of the operator; null: the key was deleted, or a source has collected the import. */
  sender: string | null;
  /** The source that has collected the import; null: it was sent over the API. */
  source_id: string | null;
  status: ImportStatus;
  /** The format that its sender named, which may be `auto`. */
  format: string;
  /** The format of its first statement; null: no statement is stored yet. */
  detected_format: string | null;
  account_id: string | null;
  profile: string | null;
  checkpoint: number;
  crash_count: number;
  received: number | null;
  inserted: number;
  duplicates: number;
  changed: number;
  assumed_duplicates: number;
  assumed_new: number;
  conflicts: number;
  rejected: number;
  deliveries: number;
  statements: number;
  warnings: number;
  /** The ids of stored statements that statements of the file contradict, as JSON. null: none. */
  contradicts: string | null;
  error: string | null;
  received_at: Date;
  started_at: Date | null;
  /** When the import was last queued again. `started_at` is then when it went on. */
  retried_at: Date | null;
  finished_at: Date | null;
}

/** Finds the ids first, so that only the rows of one page are joined, whatever the statistics say. Indexes of the joins: the primary keys. */
const ROWS = (ids: string) => `
  SELECT i.id, i.customer_id, u.name AS customer, ${SENDER_NAME} AS sender, i.source_id, i.status,
    i.format, i.detected_format, i.account_id, i.profile, i.checkpoint, i.crash_count, i.received, i.inserted, i.duplicates,
    i.changed, i.assumed_duplicates, i.assumed_new, i.conflicts, i.rejected, i.deliveries, i.statements, i.warnings, i.contradicts, i.error, i.received_at, i.started_at, i.retried_at, i.finished_at
  FROM (${ids}) f STRAIGHT_JOIN imports i FORCE INDEX (PRIMARY) ON i.id = f.id
    STRAIGHT_JOIN customers u FORCE INDEX (PRIMARY) ON u.id = i.customer_id
    LEFT JOIN api_keys k ON k.id = i.api_key_id
  ORDER BY i.id DESC`;

/**
 * An API key limited to accounts sees only its own imports, because imports of other keys may contain other accounts. It also sees
 * imports that a source has collected for one of its accounts.
 */
const VISIBLE = `
  customer_id = ? AND status <> 'receiving' AND (? OR api_key_id = ? OR (source_id IS NOT NULL AND account_id IN (?)))`;

const visibleTo = ({ customerId, actor, accountIds }: ImportViewer) => [
  customerId,
  accountIds === 'all',
  apiKeyOf(actor),
  visibleAccounts({ accountIds }),
];

/** Index: the primary key. */
const ONE = "SELECT id FROM imports WHERE id = ? AND status <> 'receiving'";

/** Each way to find imports below an id, with its index. */
const FIND = {
  all: `SELECT id FROM imports FORCE INDEX (PRIMARY) WHERE status <> 'receiving' AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?`,
  status:
    'SELECT id FROM imports FORCE INDEX (imports_status) WHERE status = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?',
  customer: `
    SELECT id FROM imports FORCE INDEX (imports_page)
    WHERE ${VISIBLE} AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?`,
  // The index cannot find an account's movements by their import. So only the account's newest movements are searched.
  account: `
    SELECT DISTINCT n.import_id AS id FROM (
      SELECT import_id FROM transactions FORCE INDEX (transactions_account_page)
      WHERE account_id = ? ORDER BY account_id DESC, id DESC LIMIT 2000) n
    WHERE n.import_id < ? AND n.import_id >= ? ORDER BY n.import_id DESC LIMIT ?`,
} as const;

/** Who looks at the imports of a customer. */
type ImportViewer = Pick<Caller, 'customerId' | 'actor' | 'accountIds'>;

interface ImportFilters {
  /** null: the imports of all customers, for operators. */
  viewer: ImportViewer | null;
  status?: ImportStatus | undefined;
  /** For operators. */
  accountId?: string | undefined;
  /** Below this id, and from this id on. */
  before: string;
  from?: string;
}

/**
 * Lists imports, newest first. One filter decides the index. The others leave rows out, so a page may be shorter than `limit`. For
 * an account, finds only the imports of its 2,000 newest movements.
 */
export async function listImports(
  sql: Sql,
  { viewer, status, accountId, before, from = '1' }: ImportFilters,
  limit: number,
): Promise<Page<ImportRow>> {
  const [find, values] =
    accountId !== undefined
      ? [FIND.account, [accountId]]
      : viewer !== null
        ? [FIND.customer, visibleTo(viewer)]
        : status !== undefined
          ? [FIND.status, [status]]
          : [FIND.all, []];
  const found = await sql.query<ImportRow[]>(ROWS(find), [...values, before, from, limit + 1]);
  const { rows, next } = cutPage(found, limit);
  const isShown = (it: ImportRow) =>
    (status === undefined || it.status === status) &&
    (viewer === null || it.customer_id === viewer.customerId);
  return { rows: rows.filter(isShown), next };
}

/** Reads an import. @param viewer null: an operator. @throws {Problem} 404 when it does not exist, or the viewer may not see it. */
export async function findImport(sql: Sql, viewer: ImportViewer | null, id: string): Promise<ImportRow> {
  const [found] =
    viewer === null
      ? await sql.query<ImportRow[]>(ROWS(ONE), [id])
      : await sql.query<ImportRow[]>(ROWS(`${ONE} AND ${VISIBLE}`), [id, ...visibleTo(viewer)]);
  if (found === undefined) throw notFound('import');
  return found;
}

/** One entry of the primary key. */
const NEXT = 'SELECT id, received_at FROM imports FORCE INDEX (PRIMARY) WHERE id >= ? ORDER BY id LIMIT 1';
const NEWEST = 'SELECT MAX(id) AS id FROM imports';

/**
 * Finds the first import that was received at or after a moment, as a lower bound of ids. Ids grow with the time at which imports
 * begin, so a bisection finds it. Each step reads one entry of the primary key.
 * @param moment in UTC, as MySQL writes it.
 */
export async function firstImportAt(sql: Sql, moment: string): Promise<string> {
  const at = Date.parse(`${moment.replace(' ', 'T')}Z`);
  const [newest] = await sql.query<{ id: string | null }[]>(NEWEST);
  let low = 1;
  let high = Number(newest?.id ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await sql.query<{ id: string; received_at: Date }[]>(NEXT, [middle]);
    if (row === undefined || row.received_at.getTime() >= at) high = middle;
    else low = Number(row.id) + 1;
  }
  return String(low);
}

/**
 * Ends imports as failed, and reports the failure in the same transaction. Keeps their staged parts, so that they can be retried.
 */

/** An import fails after this many runs in a row that stored no chunk, because its process crashed or the run failed. */
export const MAX_CRASHES = 10;

const GIVE_UP = `
  UPDATE imports SET status = 'failed', finished_at = NOW(6), error = CONCAT('Reading on from row ', checkpoint + 1,
    ' has failed ${MAX_CRASHES} times in a row. Valid rows before it are stored, and what was sent is kept.')
  WHERE id = ? AND status IN ('queued', 'running')`;

const FAIL = `
  UPDATE imports SET status = 'failed', started_at = COALESCE(started_at, NOW(6)), finished_at = NOW(6), received = checkpoint,
    error = CONCAT(?, CASE inserted + duplicates WHEN 0 THEN '' WHEN 1 THEN ' 1 row before that is stored.'
      ELSE CONCAT(' ', inserted + duplicates, ' rows before that are stored.') END)
  WHERE id = ? AND status IN ('queued', 'running')`;

const READ = 'SELECT id, customer_id, source_id, format, checkpoint, error FROM imports WHERE id = ?';

interface FailedImport {
  id: string;
  customer_id: string;
  source_id: string | null;
  format: string;
  checkpoint: number;
  error: string | null;
}

/** Ends an import that keeps failing, or crashing its process, at the same row. */
export const giveUp = (database: DataSource, importId: string): Promise<void> =>
  inTransaction(database, (sql) => fail(sql, importId, GIVE_UP, [importId]));

/** Ends an import whose file cannot be read. @param reason a sentence. */
export const failUnreadable = (database: DataSource, importId: string, reason: string): Promise<void> =>
  inTransaction(database, (sql) => fail(sql, importId, FAIL, [cutTo('imports.error', reason), importId]));

async function fail(sql: Sql, importId: string, update: string, values: unknown[]): Promise<void> {
  const { affectedRows } = await sql.query<WriteResult>(update, values);
  if (affectedRows !== 1) return;
  const [failed] = await sql.query<FailedImport[]>(READ, [importId]);
  if (failed === undefined) return;
  const { id, customer_id, source_id, format, checkpoint, error } = failed;
  await recordEvent(sql, {
    type: 'import.failed',
    customerId: customer_id,
    data: {
      customer_id: Number(customer_id),
      import: {
        id: Number(id),
        format,
        source_id: source_id === null ? null : Number(source_id),
        rows_stored: checkpoint,
        error,
      },
    },
  });
}

/** Finds and reports accepted imports that make no progress. */

/**
 * The part of an SQL statement that finds imports that have waited for more than five minutes while nothing of their customer was
 * stored. A large import that makes progress is not stuck, because it stores chunks. Indexes: imports_status, and the primary key
 * of import_locks.
 */
export const STUCK_IMPORTS = `imports i JOIN import_locks l ON l.customer_id = i.customer_id
  WHERE i.status IN ('queued', 'running') AND COALESCE(i.retried_at, i.received_at) < NOW(6) - INTERVAL 5 MINUTE
    AND l.last_date_readed < NOW(6) - INTERVAL 5 MINUTE`;

/** Only the oldest import of each customer, because it holds up the customer's other imports. Index: the primary key of imports. */
const OLDEST = `
  SELECT o.id, o.customer_id, o.source_id, o.format, o.checkpoint, o.received_at, s.imports, s.last_stored
  FROM (SELECT MIN(i.id) AS id, COUNT(*) AS imports, MAX(l.last_date_readed) AS last_stored
    FROM ${STUCK_IMPORTS} GROUP BY i.customer_id) s
  JOIN imports o ON o.id = s.id`;

interface StuckImport {
  id: string;
  customer_id: string;
  source_id: string | null;
  format: string;
  checkpoint: number;
  received_at: Date;
  imports: string | number;
  last_stored: Date;
}

/**
 * Records an `import.stuck` for the oldest stuck import of each customer. Records it again only after something of the customer was
 * stored, or when another import is the oldest.
 */
export async function reportStuckImports(database: DataSource): Promise<void> {
  const stuck = await database.query<StuckImport[]>(OLDEST);
  const recorded = await findRecorded(database, stuck.map(occasionOf));
  for (const it of stuck) {
    const occasion = occasionOf(it);
    if (recorded.has(occasion)) continue;
    const { id, customer_id: customerId, source_id, format, checkpoint, received_at, imports } = it;
    await inTransaction(database, (sql) =>
      recordEvent(sql, {
        type: 'import.stuck',
        customerId,
        occasion,
        data: {
          customer_id: Number(customerId),
          import: {
            id: Number(id),
            format,
            source_id: source_id === null ? null : Number(source_id),
            rows_stored: checkpoint,
          },
          received_at: received_at.toISOString(),
          imports: Number(imports),
        },
      }),
    );
  }
}

const occasionOf = ({ id, last_stored }: StuckImport): string =>
  `import.stuck ${id} ${last_stored.toISOString()}`;

/**
 * Locks the API key of an import, which decides the accounts that its rows may have. Deleting a key takes the same lock, so a key
 * found here stays until the import is queued. From then on the key cannot be deleted. An import of a source or an operator has no
 * key. Indexes: the primary keys.
 */
const LOCK_KEY = `
  SELECT id FROM api_keys WHERE id = (SELECT api_key_id FROM imports WHERE id = ?) LOCK IN SHARE MODE`;

/** Index: the primary keys. Every staged import has a part 0, even if its body is empty. */
const LOCK_IMPORT = `
  SELECT status, i.api_key_id, EXISTS (SELECT 1 FROM import_parts p WHERE p.import_id = i.id AND p.seq = 0) AS kept
  FROM imports i WHERE i.id = ? FOR UPDATE`;

/** Keeps the checkpoint and the counts, so that the import continues after its stored rows. */
const QUEUE = `
  UPDATE imports SET status = 'queued', crash_count = 0, error = NULL, started_at = NULL, finished_at = NULL, retried_at = NOW(6) WHERE id = ?`;

/**
 * Queues a failed import again. It continues at its checkpoint, and may crash ten more times before it is quarantined again.
 * @throws {Problem} 404; 409 for an import that has not failed, or whose API key or body was deleted.
 */
export async function retryImport(
  { database, queues, log }: Pick<Runtime, 'database' | 'queues' | 'log'>,
  caller: Caller,
  importId: string,
): Promise<ImportRow> {
  const { id } = await findImport(database, caller, importId);
  const queued = await inTransaction(database, async (sql) => {
    await requeue(sql, id);
    await recordChange(sql, caller, { action: 'retry', subject: `import ${id}` });
    // Afterwards, an importer may have begun it.
    return findImport(sql, caller, id);
  });
  // Redis may be unreachable. The reconciler then queues the import within 10 s.
  await queueImports(queues, [caller.customerId]).catch((err: unknown) =>
    log.warn({ err, importId: id }, 'import not queued yet'),
  );
  return queued;
}

/** @throws {Problem} 409, unless the import could be queued. */
async function requeue(sql: Sql, importId: string): Promise<void> {
  const [key] = await sql.query<unknown[]>(LOCK_KEY, [importId]);
  const [found] = await sql.query<{ status: string; api_key_id: string | null; kept: number | string }[]>(
    LOCK_IMPORT,
    [importId],
  );
  if (found?.status !== 'failed')
    throw new Problem(
      'import-not-failed',
      `Only a failed import can be retried, but this import is ${found?.status ?? 'deleted'}.`,
    );
  if (key === undefined && found.api_key_id !== null)
    throw new Problem(
      'import-not-retryable',
      'The API key that sent this import was deleted. Send the file again with another key.',
    );
  if (Number(found.kept) === 0)
    throw new Problem('import-not-retryable', 'The body of this import was deleted. Send the file again.');
  await sql.query<WriteResult>(QUEUE, [importId]);
}
