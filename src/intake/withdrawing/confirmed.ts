import type { Sql } from '../../database/transaction.ts';
import { MOST_LISTED } from '../../ledger/append.ts';
import type { Subject } from './candidates.ts';

/** Finds which movements something else confirms, so that a withdrawal keeps them. */

/** Entries of other statements. A file that was sent twice has the same statements. Indexes: repeated_entries_movement, and the primary keys. */
const CONFIRMED_BY_STATEMENT = (isOther: string) => `
  SELECT DISTINCT r.transaction_id AS id FROM repeated_entries r FORCE INDEX (repeated_entries_movement)
    LEFT JOIN statements s ON s.id = r.statement_id LEFT JOIN withdrawn_statements w ON w.id = r.statement_id
  WHERE r.transaction_id IN (?) AND w.id IS NULL AND ${isOther}`;

/** Only JSON and NDJSON: the entries of files are found by their statements. Indexes: import_duplicates_movement, the primary key, and withdrawals_subject. */
const CONFIRMED_BY_JSON = `
  SELECT DISTINCT u.transaction_id AS id FROM import_duplicates u FORCE INDEX (import_duplicates_movement)
    STRAIGHT_JOIN imports i ON i.id = u.import_id AND i.format IN ('json', 'ndjson')
  WHERE u.transaction_id IN (?) AND u.import_id <> ? AND u.reason IN ('same', 'changed', 'assumed')
    AND NOT EXISTS (SELECT 1 FROM withdrawals o WHERE o.import_id = u.import_id AND o.statement_id = 0)`;

/**
 * Later JSON imports with more duplicates than the 10,000 that are listed. Any earlier movement may be one of the others. Index:
 * imports_page.
 */
const UNLISTED = `
  SELECT i.id FROM imports i FORCE INDEX (imports_page)
  WHERE i.customer_id = ? AND i.id > ? AND i.id <> ? AND i.format IN ('json', 'ndjson')
    AND i.duplicates + i.conflicts + i.assumed_new > ${MOST_LISTED}
    AND NOT EXISTS (SELECT 1 FROM withdrawals o WHERE o.import_id = i.id AND o.statement_id = 0)
  ORDER BY i.id LIMIT 1`;

/** @returns a later import that may have confirmed any of the movements, because not all of its rows are listed; null: there is none. */
export async function findUnlisted(sql: Sql, { customerId, importId }: Subject): Promise<string | null> {
  const [found] = await sql.query<{ id: string }[]>(UNLISTED, [customerId, importId, importId]);
  return found?.id ?? null;
}

/**
 * Finds which movements stay: another statement that counts has their entry, or another JSON import has their row as a duplicate.
 * @param ids of movements of the customer.
 */
export async function findConfirmed(
  sql: Sql,
  { importId, statementId }: Subject,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const byStatement =
    statementId === null ? '(s.import_id IS NULL OR s.import_id <> ?)' : 'r.statement_id <> ?';
  const rows = [
    ...(await sql.query<{ id: string }[]>(CONFIRMED_BY_STATEMENT(byStatement), [
      ids,
      statementId ?? importId,
    ])),
    ...(await sql.query<{ id: string }[]>(CONFIRMED_BY_JSON, [ids, importId])),
  ];
  return new Set(rows.map(({ id }) => id));
}
