import type { Sql } from '../../database/transaction.ts';
import type { ImportRow } from '../../intake/imports.ts';

export interface ImportedMovement {
  id: string;
  account_id: string;
  dc: string;
  amount: string;
  description: string | null;
  date_issue: string;
}

/** The most index entries that are looked at. Other imports of the customer may be stored at the same time. */
const LOOKED_AT = 5_000;

/** A small import may be stored this long after the moment that its row names. */
const STORED_WITHIN_SECONDS = 60;

/** Index: transactions_readed, from the beginning of the import to its end, because no index holds the movements of an import. */
const STORED = `
  SELECT t.id, t.account_id, t.dc, t.amount, t.description, t.date_issue FROM (
    SELECT id FROM transactions FORCE INDEX (transactions_readed)
    WHERE customer_id = ? AND date_readed >= ? AND date_readed <= COALESCE(?, NOW(6)) + INTERVAL ${STORED_WITHIN_SECONDS} SECOND
    ORDER BY date_readed, id LIMIT ${LOOKED_AT}) n
  JOIN transactions t ON t.id = n.id WHERE t.import_id = ? ORDER BY t.id LIMIT ?`;

/** Reads the first movements that an import has stored. */
export const readStored = (
  sql: Sql,
  { id, customer_id, started_at, retried_at, received_at, finished_at }: ImportRow,
  limit: number,
): Promise<ImportedMovement[]> =>
  // Movements that were stored before the retry are older than `started_at`.
  sql.query(STORED, [
    customer_id,
    retried_at === null ? (started_at ?? received_at) : received_at,
    finished_at,
    id,
    limit,
  ]);

/** A row that was assumed to be a known or a new movement without proof, with that movement. */
export interface AssumedRow {
  line: number;
  reason: 'assumed' | 'assumed_new';
  transaction_id: string;
  dc: 'Debit' | 'Credit';
  amount: string;
  date_issue: string;
  description: string | null;
  import_id: string;
}

/** Indexes: import_duplicates_import, of which an import has at most 10,000, and the primary key. */
const ASSUMED = `
  SELECT d.line, d.reason, d.transaction_id, t.dc, t.amount, t.date_issue, t.description, t.import_id
  FROM import_duplicates d STRAIGHT_JOIN transactions t ON t.id = d.transaction_id
  WHERE d.import_id = ? AND d.reason IN ('assumed', 'assumed_new') ORDER BY d.id LIMIT ?`;

export const readAssumed = (sql: Sql, importId: string, limit: number): Promise<AssumedRow[]> =>
  sql.query<AssumedRow[]>(ASSUMED, [importId, limit]);
