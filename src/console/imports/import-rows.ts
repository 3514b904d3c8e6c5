import type { Sql } from '../../platform/database/transaction.ts';

/** Reads imports of all customers, as the console shows them. */

export const IMPORT_STATUSES = ['queued', 'running', 'done', 'failed'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

export interface ImportListRow {
  id: string;
  customer_id: string;
  customer: string;
  /** The name of the API key; null: it was deleted. */
  api_key: string | null;
  /** The source that has collected it; null: it was sent over the API. */
  source_id: string | null;
  status: ImportStatus;
  /** The detected format, or until then the one that was sent. */
  format: string;
  account_id: string | null;
  profile: string | null;
  checkpoint: number;
  crash_count: number;
  received: number | null;
  inserted: number;
  duplicates: number;
  rejected: number;
  deliveries: number;
  statements: number;
  warnings: number;
  error: string | null;
  received_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

/** The ids are found first, so that the joins cost a page and no more. Indexes of the joins: the primary keys. */
const ROWS = (ids: string) => `
  SELECT i.id, i.customer_id, u.name AS customer, CONCAT(k.prefix, '… ', k.title) AS api_key, i.source_id, i.status,
    COALESCE(i.detected_format, i.format) AS format, i.account_id, i.profile, i.checkpoint, i.crash_count, i.received, i.inserted, i.duplicates, i.rejected, i.deliveries, i.statements,
    i.warnings, i.error, i.received_at, i.started_at, i.finished_at
  FROM (${ids}) f JOIN imports i ON i.id = f.id JOIN customers u ON u.id = i.customer_id
    LEFT JOIN api_keys k ON k.id = i.api_key_id
  ORDER BY i.id DESC`;

/** Each way to find imports below an id, with its index. */
const FIND = {
  all: `SELECT id FROM imports FORCE INDEX (PRIMARY) WHERE status <> 'receiving' AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?`,
  status:
    'SELECT id FROM imports FORCE INDEX (imports_status) WHERE status = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?',
  customer: `
    SELECT id FROM imports FORCE INDEX (imports_page)
    WHERE customer_id = ? AND status <> 'receiving' AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?`,
  // Of the account's newest movements, below a movement that the bound on imports cannot give. So only these are looked at.
  account: `
    SELECT DISTINCT n.import_id AS id FROM (
      SELECT import_id FROM transactions FORCE INDEX (transactions_account_page)
      WHERE account_id = ? ORDER BY account_id DESC, id DESC LIMIT 2000) n
    WHERE n.import_id < ? AND n.import_id >= ? ORDER BY n.import_id DESC LIMIT ?`,
} as const;

export interface ImportFilters {
  status: ImportStatus | null;
  customerId: string | null;
  accountId: string | null;
  /** Below this id, and from this id on. */
  before: string;
  from: string;
}

/**
 * Lists imports, newest first. One filter decides the index, and the others leave rows out, so that a page may be shorter than
 * `limit`. Of an account, the imports of its 2,000 newest movements are found.
 */
export async function listImports(
  sql: Sql,
  { status, customerId, accountId, before, from }: ImportFilters,
  limit: number,
): Promise<{ rows: ImportListRow[]; next: string | null }> {
  const [find, values] =
    accountId !== null
      ? [FIND.account, [accountId]]
      : customerId !== null
        ? [FIND.customer, [customerId]]
        : status !== null
          ? [FIND.status, [status]]
          : [FIND.all, []];
  const found = await sql.query<ImportListRow[]>(ROWS(find), [...values, before, from, limit + 1]);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page.filter(
      (it) =>
        (status === null || it.status === status) && (customerId === null || it.customer_id === customerId),
    ),
    next: found.length > limit && last !== undefined ? last.id : null,
  };
}

/** Reads one import; undefined: it does not exist. */
export async function readImport(sql: Sql, id: string): Promise<ImportListRow | undefined> {
  const [row] = await sql.query<ImportListRow[]>(
    ROWS(`SELECT id FROM imports WHERE id = ? AND status <> 'receiving'`),
    [id],
  );
  return row;
}

/** One entry of the primary key. */
const NEXT = 'SELECT id, received_at FROM imports FORCE INDEX (PRIMARY) WHERE id >= ? ORDER BY id LIMIT 1';
const NEWEST = 'SELECT MAX(id) AS id FROM imports';

/**
 * The first import that was received at or after a moment, as a lower bound of ids. Ids grow with the time at which imports begin,
 * so it is found by bisection, with an entry of the primary key for each step.
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

export interface ImportIssue {
  severity: 'error' | 'warning';
  line: number;
  path: string;
  message: string;
}

/** Index: the primary key, in its order. */
const ISSUES = `
  SELECT severity, line, path, message FROM import_errors WHERE import_id = ? ORDER BY severity, line, path LIMIT ?`;

/** Reads the first issues of an import: rejected rows, then warnings. */
export const readIssues = (sql: Sql, importId: string, limit: number): Promise<ImportIssue[]> =>
  sql.query(ISSUES, [importId, limit]);

export interface StoredMovement {
  id: string;
  account_id: string;
  dc: string;
  amount: string;
  description: string | null;
  date_issue: string;
}

/** Entries of the index that are looked at. While an import is stored, other imports of the customer may be stored too. */
const LOOKED_AT = 5_000;

/** A small import is stored after the moment that its row names. */
const STORED_WITHIN_SECONDS = 60;

/** Index: transactions_readed, from the beginning of the import to its end, because no index has the imports of movements. */
const STORED = `
  SELECT t.id, t.account_id, t.dc, t.amount, t.description, t.date_issue FROM (
    SELECT id FROM transactions FORCE INDEX (transactions_readed)
    WHERE customer_id = ? AND date_readed >= ? AND date_readed <= COALESCE(?, NOW(6)) + INTERVAL ${STORED_WITHIN_SECONDS} SECOND
    ORDER BY date_readed, id LIMIT ${LOOKED_AT}) n
  JOIN transactions t ON t.id = n.id WHERE t.import_id = ? ORDER BY t.id LIMIT ?`;

/** Reads the first movements that an import has stored. */
export const readStored = (
  sql: Sql,
  { id, customer_id, started_at, received_at, finished_at }: ImportListRow,
  limit: number,
): Promise<StoredMovement[]> =>
  sql.query(STORED, [customer_id, started_at ?? received_at, finished_at, id, limit]);
