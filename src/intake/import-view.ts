import * as v from 'valibot';
import type { Sql } from '../database/transaction.ts';
import type { DuplicateReason } from '../ledger/row-fate.ts';
import { Count, IdView, Timestamp, withExample } from '../platform/validation.ts';
import type { ImportRow } from './imports.ts';

export interface ImportIssue {
  /** A warning rejects no row. */
  severity: 'error' | 'warning';
  line: number;
  path: string;
  message: string;
}

/** The first issues of one severity of an import. Index: the primary key, in its order. */
const FIND_ISSUES = `
  (SELECT import_id, severity, line, path, message FROM import_errors FORCE INDEX (PRIMARY)
   WHERE import_id = ? AND severity = ? ORDER BY import_id, severity, line, path LIMIT ?)`;

/** The number of issues of each severity that are kept of an import. */
const MOST_ISSUES = 10_000;

/** Reads the first issues of an import: rejected rows by line, then warnings by line. @param limit of each of the two. */
export async function readIssues(
  sql: Sql,
  importId: string,
  limit: number = MOST_ISSUES,
): Promise<ImportIssue[]> {
  const severities: ImportIssue['severity'][] = ['error', 'warning'];
  const found = await Promise.all(
    severities.map((severity) => sql.query<ImportIssue[]>(FIND_ISSUES, [importId, severity, limit])),
  );
  return found.flat();
}

/** Why a row was rejected. */
export const IssueView = withExample(v.object({ line: Count, path: v.string(), message: v.string() }), {
  line: 2,
  path: 'date_issue',
  message: 'must be a date that exists, written YYYY-MM-DD, from the year 1000',
});

/** A warning rejects no row, but somebody should look at it. */
export const WarningView = withExample(v.object({ line: Count, message: v.string() }), {
  line: 8,
  message: 'The entries miss the closing balance by 40.00.',
});

export type ImportWarning = v.InferOutput<typeof WarningView>;

/** The most warnings that an import shows in words. */
const MOST_FIRST_WARNINGS = 3;

/** Reads the first warnings of imports, by line, with one query for all of them. @returns lists by the ids of imports. */
export async function readFirstWarnings(
  sql: Sql,
  imports: readonly Pick<ImportRow, 'id' | 'warnings'>[],
): Promise<Map<string, ImportWarning[]>> {
  const warned = imports.filter(({ warnings }) => warnings > 0);
  if (warned.length === 0) return new Map();
  const issues = await sql.query<(ImportIssue & { import_id: string })[]>(
    warned.map(() => FIND_ISSUES).join(' UNION ALL '),
    warned.flatMap(({ id }) => [id, 'warning', MOST_FIRST_WARNINGS]),
  );
  const found = new Map<string, ImportWarning[]>(warned.map(({ id }) => [id, []]));
  // UNION ALL promises no order.
  for (const { import_id, line, message } of issues.sort((a, b) => a.line - b.line))
    found.get(import_id)?.push({ line, message });
  return found;
}

interface ImportErrors {
  /** Why rows were rejected, by line. */
  errors: { line: number; path: string; message: string }[];
  /** By line. */
  warnings: ImportWarning[];
}

/** Reads the errors and warnings of an import. */
export async function findImportErrors(sql: Sql, importId: string): Promise<ImportErrors> {
  const rows = await readIssues(sql, importId);
  return {
    errors: rows.flatMap(({ severity, line, path, message }) =>
      severity === 'error' ? [{ line, path, message }] : [],
    ),
    warnings: rows.flatMap(({ severity, line, message }) =>
      severity === 'warning' ? [{ line, message }] : [],
    ),
  };
}

/** The result of a file of a zip. */
export const ImportFileView = withExample(
  v.object({
    name: v.string(),
    outcome: v.pipe(
      v.picklist(['read', 'skipped', 'failed']),
      v.description(
        'skipped: the file holds no statements, which is a warning. failed: the file cannot be read, or not to its end, which is an error.',
      ),
    ),
    format: v.pipe(v.nullable(v.string()), v.description('null: the format is not known.')),
    statements: Count,
    entries: v.pipe(Count, v.description('Booked and pending.')),
    message: v.pipe(v.nullable(v.string()), v.description('Why the file was skipped or has failed.')),
  }),
  {
    name: 'november.sta',
    outcome: 'read',
    format: 'mt940',
    statements: 1,
    entries: 9,
    message: 'The file holds no statements.',
  },
);

export type ImportFile = v.InferOutput<typeof ImportFileView>;

/** Index: the primary key. */
const FILES = 'SELECT members FROM imports WHERE id = ?';

/** Reads the results of the files of a zip: none before the import is done, and for other files. */
export async function findImportFiles(sql: Sql, importId: string): Promise<ImportFile[]> {
  const [row] = await sql.query<{ members: string | null }[]>(FILES, [importId]);
  return JSON.parse(row?.members ?? '[]');
}

/** Index: import_duplicates_import. */
const DUPLICATES = `
  SELECT line, reason, transaction_id FROM import_duplicates WHERE import_id = ? ORDER BY import_id, id`;

interface ImportDuplicate {
  line: number;
  reason: DuplicateReason;
  transaction_id: number;
}

/** Reads the rows of an import that were taken for stored movements, in their order: the first 10,000. */
export async function findImportDuplicates(sql: Sql, importId: string): Promise<ImportDuplicate[]> {
  const rows = await sql.query<(Omit<ImportDuplicate, 'transaction_id'> & { transaction_id: string })[]>(
    DUPLICATES,
    [importId],
  );
  return rows.map((row) => ({ ...row, transaction_id: Number(row.transaction_id) }));
}

export const ImportView = v.object({
  id: IdView,
  source_id: v.pipe(
    withExample(v.nullable(IdView), 1),
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
      'The format of the first statement in a statement file. null: no statement was read yet, or the import is JSON or NDJSON.',
    ),
  ),
  received: v.nullable(Count),
  inserted: Count,
  duplicates: Count,
  changed: v.pipe(
    Count,
    v.description('Of the duplicates, those with another text or balance than what is stored.'),
  ),
  assumed_duplicates: v.pipe(
    Count,
    v.description(
      'Of the duplicates, those without an id. They equal a stored movement, but nothing proves that they are the same.',
    ),
  ),
  assumed_new: v.pipe(
    Count,
    v.description('Inserted rows that may be a stored movement, because nothing proves the opposite.'),
  ),
  conflicts: v.pipe(
    Count,
    v.description(
      'Rows with the unique_id of a stored movement and another direction, amount or date. They are no duplicates: GET /v1/conflicts lists them.',
    ),
  ),
  rejected: Count,
  deliveries: Count,
  statements: Count,
  warnings: Count,
  first_warnings: v.pipe(
    v.array(WarningView),
    v.description(
      `The first ${MOST_FIRST_WARNINGS} warnings, by line. GET /v1/imports/{id}/errors lists more of them.`,
    ),
  ),
  contradicts: v.pipe(
    withExample(v.array(IdView), [1]),
    v.description(
      'The stored statements that statements of the file contradict: the same number or days, the same opening balance, and other entries. A warning says of each by how much.',
    ),
  ),
  received_at: Timestamp,
  started_at: v.nullable(Timestamp),
  finished_at: v.nullable(Timestamp),
  error: withExample(v.nullable(v.string()), 'Line 14 is cut off.'),
});

/** The columns that the API shows. */
export type ViewedImport = Omit<
  ImportRow,
  | 'customer_id'
  | 'customer'
  | 'sender'
  | 'account_id'
  | 'profile'
  | 'checkpoint'
  | 'crash_count'
  | 'retried_at'
>;

/** Shows an import as in `viewImports`. */
export const viewImport = async (sql: Sql, it: ViewedImport) =>
  viewWith(it, await readFirstWarnings(sql, [it]));

/**
 * Shows imports with their first warnings. `received` is the number of rows. It is null until an NDJSON import has been read to its
 * end.
 */
export async function viewImports(sql: Sql, imports: readonly ViewedImport[]) {
  const warnings = await readFirstWarnings(sql, imports);
  return imports.map((it) => viewWith(it, warnings));
}

const viewWith = (it: ViewedImport, firstWarnings: ReadonlyMap<string, ImportWarning[]>) => ({
  id: Number(it.id),
  source_id: it.source_id === null ? null : Number(it.source_id),
  status: it.status,
  format: it.format,
  detected_format: it.detected_format,
  received: it.received,
  inserted: it.inserted,
  duplicates: it.duplicates,
  changed: it.changed,
  assumed_duplicates: it.assumed_duplicates,
  assumed_new: it.assumed_new,
  conflicts: it.conflicts,
  rejected: it.rejected,
  deliveries: it.deliveries,
  statements: it.statements,
  warnings: it.warnings,
  first_warnings: firstWarnings.get(it.id) ?? [],
  contradicts: it.contradicts === null ? [] : (JSON.parse(it.contradicts) as number[]),
  received_at: it.received_at.toISOString(),
  started_at: it.started_at?.toISOString() ?? null,
  finished_at: it.finished_at?.toISOString() ?? null,
  error: it.error,
});
