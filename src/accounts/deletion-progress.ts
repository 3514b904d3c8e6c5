import type { Sql } from '../database/transaction.ts';

/** How far the deletion of an account is. */
export interface DeletionProgress {
  requestedAt: Date;
  /** How many movements there were when the work began; null: it has not begun. */
  movements: number | null;
  movementsDeleted: number;
}

/** Index: the primary key. */
const READ = `
  SELECT account_id, requested_at, movements, movements_deleted FROM deletions WHERE customer_id = ? AND account_id IN (?)`;

/** Reads how far the deletions of a customer's accounts are. @returns the progress by account; accounts that stay have none. */
export async function readDeletionProgress(
  sql: Sql,
  customerId: string,
  accounts: readonly { id: string; status: string }[],
): Promise<Map<string, DeletionProgress>> {
  const ids = accounts.filter(({ status }) => status === 'deleting').map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const rows = await sql.query<
    { account_id: string; requested_at: Date; movements: string | null; movements_deleted: string }[]
  >(READ, [customerId, ids]);
  return new Map(
    rows.map((row) => [
      row.account_id,
      {
        requestedAt: row.requested_at,
        movements: row.movements === null ? null : Number(row.movements),
        movementsDeleted: Number(row.movements_deleted),
      },
    ]),
  );
}
