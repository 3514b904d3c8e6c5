import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { joinSettings } from '../webhook-record/record.ts';
import { formatDeliveryId } from './delivery-id.ts';
import { readSubject, recordEvent } from './operational-event.ts';

/** Reports deliveries that have failed for good. The first report is immediate. Further reports come at most once an hour per webhook. */

/** The most ids in one event. The API lists all of them. */
const MOST_IDS = 10;

/** Also true if the clock was set back since the last report. */
const IS_DUE = `
  c.unreported_failures > 0 AND (c.failures_reported_at IS NULL OR c.failures_reported_at > NOW(6)
    OR c.failures_reported_at <= NOW(6) - INTERVAL 1 HOUR)`;

/** Leaves out deliveries of operational events, because reporting them would cause a loop. Reads each webhook's cursor once. */
const FIND_UNREPORTED_FAILURES = `
  SELECT c.webhook_id FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id
  WHERE w.status <> 'deleted' AND w.event <> 'OPERATIONAL' AND ${IS_DUE}`;

const LOCK_UNREPORTED_FAILURES = `
  SELECT c.customer_id, c.unreported_failures, h.last_error, w.template_id
  FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id ${joinSettings('w', 's')} JOIN webhook_cursors h ON h.webhook_id = s.id
  WHERE c.webhook_id = ? AND ${IS_DUE} FOR UPDATE`;

/** Index: retries_due, which holds the dead letters in the order of their movements. */
const READ_NEWEST_DEAD_LETTERS = `
  SELECT transaction_id FROM retries FORCE INDEX (retries_due)
  WHERE webhook_id = ? AND due_at IS NULL ORDER BY transaction_id DESC LIMIT ${MOST_IDS}`;

const MARK_REPORTED = `
  UPDATE webhook_cursors SET unreported_failures = 0, failures_reported_at = NOW(6) WHERE webhook_id = ?`;

/** Records a `delivery.failed` for each webhook with failures that were not reported yet. */
export async function reportFailedDeliveries(database: DataSource): Promise<void> {
  const rows = await database.query<{ webhook_id: string }[]>(FIND_UNREPORTED_FAILURES);
  for (const { webhook_id } of rows) await inTransaction(database, (sql) => report(sql, webhook_id));
}

async function report(sql: Sql, webhookId: string): Promise<void> {
  const [cursor] = await sql.query<
    {
      customer_id: string;
      unreported_failures: string;
      last_error: string | null;
      template_id: string | null;
    }[]
  >(LOCK_UNREPORTED_FAILURES, [webhookId]);
  if (cursor === undefined) return;
  const { customer_id: customerId, unreported_failures, last_error, template_id } = cursor;
  const newest = await sql.query<{ transaction_id: string }[]>(READ_NEWEST_DEAD_LETTERS, [webhookId]);
  const isRecorded = await recordEvent(sql, {
    type: 'delivery.failed',
    // Customers do not see the webhooks of templates.
    customerId: template_id === null ? customerId : null,
    webhookId,
    data: {
      customer_id: Number(customerId),
      webhook: await readSubject(sql, webhookId),
      failed: Number(unreported_failures),
      delivery_ids: newest.map(({ transaction_id: subjectId }) => formatDeliveryId({ webhookId, subjectId })),
      last_error,
    },
  });
  // If the event was not recorded, these failures are reported together with later failures.
  if (isRecorded) await sql.query(MARK_REPORTED, [webhookId]);
}
