import { revokeRun } from '../collecting/source-lease.ts';
import type { Sql } from '../database/transaction.ts';

/** Index: sources_page. */
const SOURCES = `
  SELECT id FROM sources WHERE customer_id = ? AND status <> 'deleted' AND (? IS NULL OR account_id = ?) ORDER BY id FOR UPDATE`;

const DELETE = `
  UPDATE sources SET status = 'deleted', credentials = NULL, next_run_at = NULL, is_requested = 0, error = NULL WHERE id = ?`;

/**
 * Deletes the sources of an account, or all of the customer, and ends their runs.
 * @param sql a transaction.
 * @param options.accountId null: the customer is to be deleted.
 */
export async function stopSources(
  sql: Sql,
  { customerId, accountId }: { customerId: string; accountId: string | null },
): Promise<void> {
  const sources = await sql.query<{ id: string }[]>(SOURCES, [customerId, accountId, accountId]);
  for (const { id } of sources) {
    await revokeRun(sql, id, 'The source was deleted during the run.');
    await sql.query(DELETE, [id]);
  }
}
