import { apiKeyOf, type Caller, visibleAccounts } from '../customers/caller.ts';
import type { Sql } from '../database/transaction.ts';
import { SENDER_NAME } from '../ledger/sender.ts';
import { cutPage, type Page } from '../platform/page.ts';
import { notFound } from '../platform/problem.ts';

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
