import type { Sql } from '../database/transaction.ts';

/** Resets the health of an endpoint when its webhook becomes active, or gets another endpoint or headers. */

/** The health of a new webhook. progressed_at: a backlog from before is not stalled yet. health_revision keeps runs that read an earlier revision from writing theirs over it. */
const RESET = `
  UPDATE webhook_cursors SET crash_count = 0, consecutive_failures = 0, failing_since = NULL, failing_days = 0,
    circuit_openings = 0, circuit_open_until = NULL, recovery_successes = 0, last_error = NULL, progressed_at = NOW(6),
    health_revision = ?
  WHERE webhook_id = ?`;

/**
 * Forgets how a webhook's endpoint has been answering. With the old failing_since, a webhook that was disabled after five days of
 * failures would be disabled again at its first failure.
 * @param sql the transaction that changes the webhook.
 * @param revision the webhook's revision after the change.
 */
export async function resetHealth(sql: Sql, webhookId: string, revision: number): Promise<void> {
  await sql.query(RESET, [revision, webhookId]);
}
