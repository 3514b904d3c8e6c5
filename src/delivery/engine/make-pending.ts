import type { Sql } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { accountOf } from '../subject.ts';

/** Makes deliveries that have ended pending again, for a redelivery or a replay. */

/** Leaves out accounts that are being deleted, and movements that were withdrawn. Index of this and the following statements: the primary keys. */
const READ_ENDED_DELIVERIES = `
  SELECT d.transaction_id, d.status FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id
  LEFT JOIN accounts a ON w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} AND a.id = ${accountOf('d.transaction_id')}
  WHERE w.id = ? AND d.transaction_id IN (?) AND d.status IN ('delivered', 'failed')
    AND (a.status IS NULL OR a.status <> 'deleting')
    AND (w.event IN ${EVENTS_WITHOUT_MOVEMENTS} OR NOT EXISTS (SELECT 1 FROM withdrawn_transactions x WHERE x.id = d.transaction_id))`;

/** A failed attempt already has a row, but the row may lack the body of the answer. */
const KEEP_LAST_ATTEMPT = `
  INSERT INTO attempts
    (webhook_id, transaction_id, number, customer_id, outcome, status_code, started_at, duration_ms, posts, error, response,
      batch_first)
  SELECT d.webhook_id, d.transaction_id, d.attempts, d.customer_id, d.outcome, d.status_code, d.started_at, d.duration_ms,
    d.posts, d.error, d.response, d.batch_first
  FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id IN (?)
  ON DUPLICATE KEY UPDATE response = VALUES(response)`;

const MAKE_PENDING = `UPDATE deliveries SET status = 'pending' WHERE webhook_id = ? AND transaction_id IN (?)`;

const MAKE_DUE = `
  INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures, replay_id)
  SELECT d.webhook_id, d.transaction_id, d.customer_id, NOW(6), d.attempts, 0, ?
  FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id IN (?)
  ON DUPLICATE KEY UPDATE due_at = VALUES(due_at), attempts = VALUES(attempts), failures = 0,
    replay_id = VALUES(replay_id)`;

const SUBTRACT_ENDED = `
  UPDATE webhook_cursors SET delivered_count = delivered_count - ?, failed_count = failed_count - ?
  WHERE webhook_id = ?`;

/**
 * Makes delivered and failed deliveries pending again. They are due now and start the retry schedule again. Other deliveries stay
 * as they are. The last attempt is kept in `attempts`.
 * @param sql a transaction that has locked the webhook's row in webhook_cursors.
 * @param replayId the replay that requests them; null: a redelivery.
 * @returns how many deliveries became pending.
 */
export async function makePendingAgain(
  sql: Sql,
  webhookId: string,
  subjectIds: readonly string[],
  replayId: string | null,
): Promise<number> {
  if (subjectIds.length === 0) return 0;
  const ended = await sql.query<{ transaction_id: string; status: string }[]>(READ_ENDED_DELIVERIES, [
    webhookId,
    subjectIds,
  ]);
  if (ended.length === 0) return 0;
  const ids = ended.map(({ transaction_id }) => transaction_id);
  const delivered = ended.filter(({ status }) => status === 'delivered').length;
  await sql.query(KEEP_LAST_ATTEMPT, [webhookId, ids]);
  await sql.query(MAKE_PENDING, [webhookId, ids]);
  await sql.query(MAKE_DUE, [replayId, webhookId, ids]);
  await sql.query(SUBTRACT_ENDED, [delivered, ended.length - delivered, webhookId]);
  return ended.length;
}
