import type { Sql } from '../database/transaction.ts';

/**
 * As if the endpoint had never been tried: with the old `failing_since` a webhook that was disabled after five days would
 * be disabled again at its first failure.
 */
const FORGET_FAILURES = `
  UPDATE pumps SET tries = 0, consecutive_failures = 0, failing_since = NULL, pauses = 0, paused_until = NULL,
    in_flight_limit = 2, last_error = NULL
  WHERE webhook_id = ?`;

/** Lets a webhook that becomes active begin anew. Its caller sets the status in the same transaction, and wakes it then. */
export async function forgetFailures(sql: Sql, webhookId: string): Promise<void> {
  await sql.query(FORGET_FAILURES, [webhookId]);
}
