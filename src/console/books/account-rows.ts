import type { Completeness } from '../../books/statement-chain.ts';
import type { Sql } from '../../database/transaction.ts';

/** Reads the accounts of all customers with the results of their statements, as the console shows them. */

export interface BookedAccount {
  id: string;
  customer: string;
  bank: string;
  title: string;
  currency: string;
  /** The last day and the number of the newest final statement. null: there is no statement, or it has no number. */
  newest_day: string | null;
  newest_number: string | null;
  /** The result of the last check. null: nothing was checked. */
  completeness: Completeness | null;
  late_since: Date | null;
  open_conflicts: number | string;
}

/** Indexes: the primary keys; statements_time, read backwards; movement_conflicts_account_status. */
const ACCOUNTS = `
  SELECT a.id, u.name AS customer, b.name AS bank, a.title, a.currency, s.to_date AS newest_day, s.number AS newest_number,
    k.completeness, k.late_since,
    (SELECT COUNT(*) FROM movement_conflicts c FORCE INDEX (movement_conflicts_account_status)
      WHERE c.account_id = a.id AND c.status = 'open') AS open_conflicts
  FROM accounts a FORCE INDEX (PRIMARY) STRAIGHT_JOIN customers u ON u.id = a.customer_id STRAIGHT_JOIN banks b ON b.id = a.bank_id
  LEFT JOIN statement_checks k ON k.account_id = a.id
  LEFT JOIN statements s ON s.id = (
    SELECT n.id FROM statements n FORCE INDEX (statements_time) WHERE n.account_id = a.id AND n.kind = 'final'
    ORDER BY n.account_id DESC, n.kind DESC, n.to_date DESC, n.id DESC LIMIT 1)
  WHERE a.id < ? AND a.status <> 'deleting' ORDER BY a.id DESC LIMIT ?`;

/** Finds the accounts below an id, the newest first. @returns also the id below which the next page begins; null: there is no next page. */
export async function findBookedAccounts(
  sql: Sql,
  before: string,
  limit: number,
): Promise<{ accounts: BookedAccount[]; next: string | null }> {
  const rows = await sql.query<BookedAccount[]>(ACCOUNTS, [before, limit + 1]);
  const accounts = rows.slice(0, limit);
  return { accounts, next: rows.length > limit ? (accounts.at(-1)?.id ?? null) : null };
}

/** Index: the primary key. */
const IMPORTS = 'SELECT id, import_id FROM transactions WHERE id IN (?)';

/** Reads the import that has stored each of these movements. */
export async function readImports(
  sql: Sql,
  movementIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (movementIds.length === 0) return new Map();
  const rows = await sql.query<{ id: string; import_id: string }[]>(IMPORTS, [movementIds]);
  return new Map(rows.map(({ id, import_id }) => [id, import_id]));
}
