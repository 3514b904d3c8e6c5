import type { Sql } from '../../database/transaction.ts';

/** Accounts show how the runs of their sources end. */

/** Index: the primary keys. */
const FIND_ACCOUNTS_OF_SOURCE = `
  SELECT account_id AS id FROM sources WHERE id = ? AND account_id IS NOT NULL
  UNION SELECT account_id FROM source_accounts WHERE source_id = ?`;

/** Of the sources that the account has movements from, takes the error of the source that ran last. Index: sources_page. */
const REFRESH_ACCOUNTS = `
  UPDATE accounts a SET
    a.last_work = IF(?, GREATEST(COALESCE(a.last_work, NOW(6)), NOW(6)), a.last_work),
    a.error = (
      SELECT s.error FROM sources s
      WHERE s.customer_id = a.customer_id AND s.status = 'active' AND s.error IS NOT NULL
        AND (s.account_id = a.id
          OR EXISTS (SELECT 1 FROM source_accounts x WHERE x.source_id = s.id AND x.account_id = a.id))
      ORDER BY s.last_run_at DESC, s.id DESC LIMIT 1)
  WHERE a.id IN (?)`;

/** The accounts of a source: its own account, and the accounts of movements from its files. */
export async function findSourceAccounts(sql: Sql, sourceId: string): Promise<string[]> {
  const rows = await sql.query<{ id: string }[]>(FIND_ACCOUNTS_OF_SOURCE, [sourceId, sourceId]);
  return rows.map(({ id }) => id);
}

/**
 * Writes the state of their sources to accounts.
 * @param sql a transaction, which is repeated when an import is writing the same accounts.
 * @param hasWorked whether a run has just ended well, which counts as work on these accounts.
 */
export async function refreshAccounts(
  sql: Sql,
  accountIds: readonly string[],
  hasWorked: boolean,
): Promise<void> {
  if (accountIds.length === 0) return;
  await sql.query(REFRESH_ACCOUNTS, [hasWorked, accountIds]);
}
