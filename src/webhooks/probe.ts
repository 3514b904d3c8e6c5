import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { lockCursor } from '../delivering/pending-again.ts';

/** Index of both: the primary key, and retries_due. */
const END_OPENING = `
  UPDATE webhook_cursors SET circuit_open_until = NOW(6) WHERE webhook_id = ? AND circuit_open_until > NOW(6)`;

/** Without a delivery that is due, there would be nothing to probe with. */
const BRING_FORWARD = `
  UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND due_at > NOW(6) ORDER BY due_at LIMIT 1`;

/**
 * Makes an open circuit half-open now, and the next retry due, so that the webhook's next run sends one probe. The circuit decides
 * as usual what follows. The caller wakes the webhook.
 * @param record runs in the same transaction.
 */
export function probeNow(
  database: DataSource,
  webhookId: string,
  record: (sql: Sql) => Promise<void>,
): Promise<void> {
  return inTransaction(database, async (sql) => {
    await lockCursor(sql, webhookId);
    await sql.query(END_OPENING, [webhookId]);
    await sql.query(BRING_FORWARD, [webhookId]);
    await record(sql);
  });
}
