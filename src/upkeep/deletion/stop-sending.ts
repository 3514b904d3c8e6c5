import type { Sql } from '../../database/transaction.ts';
import { LEASE_IS_FREE } from '../../delivery/lease.ts';
import { revokeRun } from '../../sources/source-lease.ts';

/** Stops sending for an account or a customer that is to be deleted. Index of all statements: webhooks_customer. */

const MATCH_NOTHING = `
  INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event, account_id)
  SELECT w.id, ?, w.customer_id, NULL, NULL FROM webhooks w
  WHERE w.customer_id = ? AND w.status <> 'deleted' AND (? IS NULL OR w.account_id = ?)
  ON DUPLICATE KEY UPDATE event = NULL, account_id = NULL`;

const DELETE_WEBHOOKS = `
  UPDATE webhooks SET status = 'deleted', revision = revision + 1
  WHERE customer_id = ? AND status <> 'deleted' AND (? IS NULL OR account_id = ?)`;

/** Ends active runs, so that their webhooks are read again. New runs send nothing of an account that is being deleted. */
const END_RUNS = "UPDATE webhooks SET revision = revision + 1 WHERE customer_id = ? AND status <> 'deleted'";

/** Makes imports check their rows again, and read which webhooks match nothing any more. */
const CHANGE_VERSIONS = `
  UPDATE import_locks SET filters_version = filters_version + 1, removals = removals + 1 WHERE customer_id = ?`;

const WITH_RUNS = `
  SELECT k.webhook_id AS id FROM webhooks w JOIN webhook_cursors k ON k.webhook_id = w.id
  WHERE w.customer_id = ? AND NOT ${LEASE_IS_FREE}`;

/**
 * Deletes the webhooks of an account, or all webhooks of the customer, and ends the customer's delivery runs.
 * @param sql a transaction that has locked the customer's imports.
 * @param options.accountId null: the customer is to be deleted.
 * @param options.newest the customer's newest movement.
 * @returns the webhooks to wake after the commit, with `reread`.
 */
export async function stopWebhooks(
  sql: Sql,
  { customerId, accountId, newest }: { customerId: string; accountId: string | null; newest: string },
): Promise<string[]> {
  await sql.query(MATCH_NOTHING, [newest, customerId, accountId, accountId]);
  await sql.query(DELETE_WEBHOOKS, [customerId, accountId, accountId]);
  await sql.query(END_RUNS, [customerId]);
  await sql.query(CHANGE_VERSIONS, [customerId]);
  const running = await sql.query<{ id: string }[]>(WITH_RUNS, [customerId]);
  return running.map(({ id }) => id);
}

/** Index: sources_page. */
const SOURCES = `
  SELECT id FROM sources WHERE customer_id = ? AND status <> 'deleted' AND (? IS NULL OR account_id = ?) ORDER BY id FOR UPDATE`;

const DELETE_SOURCE = `
  UPDATE sources SET status = 'deleted', credentials = NULL, next_run_at = NULL, is_requested = 0, error = NULL WHERE id = ?`;

/**
 * Deletes the sources of an account, or all sources of the customer, and ends their runs.
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
    await sql.query(DELETE_SOURCE, [id]);
  }
}
