import * as v from 'valibot';
import type { Caller } from '../customers/caller.ts';
import type { Sql } from '../platform/database/transaction.ts';
import { notFound } from '../platform/problems/problem.ts';
import { Count, IdView, Timestamp } from '../platform/validation.ts';

/** A row of `imports`. */
export interface ImportRow {
  id: string;
  source_id: string | null;
  status: 'queued' | 'running' | 'done' | 'failed';
  /** The format that its sender named, which may be `auto`. */
  format: string;
  /** The format of its first statement; null: no statement is stored yet. */
  detected_format: string | null;
  received: number | null;
  inserted: number;
  duplicates: number;
  rejected: number;
  deliveries: number;
  statements: number;
  warnings: number;
  received_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  error: string | null;
}

/**
 * An API key limited to accounts sees only its own imports: those of other keys may contain other accounts. It also sees what a source
 * has collected for one of its accounts.
 */
const VISIBLE = `
  SELECT id, source_id, status, format, detected_format, received, inserted, duplicates, rejected, deliveries, statements, warnings,
    received_at, started_at, finished_at, error
  FROM imports WHERE customer_id = ? AND status <> 'receiving'
    AND (? OR api_key_id = ? OR (source_id IS NOT NULL AND account_id IN (?)))`;

const visibleTo = ({ customerId, apiKeyId, accountIds }: Caller) => [
  customerId,
  accountIds === 'all',
  apiKeyId,
  // `IN ()` is not valid SQL, and `IN (NULL)` matches nothing.
  accountIds === 'all' || accountIds.length === 0 ? [null] : accountIds,
];

/** Reads imports, newest first. Index: imports_page. */
export function findImports(
  sql: Sql,
  caller: Caller,
  { before, limit }: { before: string; limit: number },
): Promise<ImportRow[]> {
  return sql.query(`${VISIBLE} AND id < ? ORDER BY id DESC LIMIT ?`, [...visibleTo(caller), before, limit]);
}

/** Reads an import. @throws {Problem} 404 when the caller cannot see it. */
export async function findImport(sql: Sql, caller: Caller, id: string): Promise<ImportRow> {
  const [found] = await sql.query<ImportRow[]>(`${VISIBLE} AND id = ?`, [...visibleTo(caller), id]);
  if (found === undefined) throw notFound('import');
  return found;
}

/** Index: the primary key. */
const ERRORS = `
  SELECT severity, line, path, message FROM import_errors WHERE import_id = ? ORDER BY severity, line, path`;

export interface ImportErrors {
  /** Why rows were rejected, by line. */
  errors: { line: number; path: string; message: string }[];
  /** Warnings, by line: somebody should look at them although they cost no row. */
  warnings: { line: number; message: string }[];
}

/** Reads the errors and warnings of an import. */
export async function findImportErrors(sql: Sql, importId: string): Promise<ImportErrors> {
  const rows = await sql.query<{ severity: string; line: number; path: string; message: string }[]>(ERRORS, [
    importId,
  ]);
  return {
    errors: rows.flatMap(({ severity, ...it }) => (severity === 'error' ? [it] : [])),
    warnings: rows.flatMap(({ severity, line, message }) =>
      severity === 'warning' ? [{ line, message }] : [],
    ),
  };
}

export const ImportView = v.object({
  id: IdView,
  source_id: v.pipe(
    v.nullable(IdView),
    v.description('The source that has collected it; null: it was sent with an API key.'),
  ),
  status: v.picklist(['queued', 'running', 'done', 'failed']),
  format: v.pipe(
    v.string(),
    v.description(
      'What was sent. auto: the content of a statement file decides, and detected_format says how.',
    ),
  ),
  detected_format: v.pipe(
    v.nullable(v.string()),
    v.description(
      'The format of the first statement in a statement file, once it is read; null: there is none yet, or the import is JSON or NDJSON.',
    ),
  ),
  received: v.nullable(Count),
  inserted: Count,
  duplicates: Count,
  rejected: Count,
  deliveries: Count,
  statements: Count,
  warnings: Count,
  received_at: Timestamp,
  started_at: v.nullable(Timestamp),
  finished_at: v.nullable(Timestamp),
  error: v.nullable(v.string()),
});

/** `received` is the number of rows. It is null until an NDJSON import has been read to its end. */
export const viewImport = (it: ImportRow) => ({
  ...it,
  id: Number(it.id),
  source_id: it.source_id === null ? null : Number(it.source_id),
  received_at: it.received_at.toISOString(),
  started_at: it.started_at?.toISOString() ?? null,
  finished_at: it.finished_at?.toISOString() ?? null,
});
