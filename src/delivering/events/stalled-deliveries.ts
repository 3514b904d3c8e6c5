import type { DataSource } from 'typeorm';
import { inTransaction } from '../../database/transaction.ts';
import { FIRST_UNATTEMPTED } from '../first-unattempted.ts';
import { recordEvent } from './record-event.ts';

/** Reports that webhooks make no progress although their endpoints answer. */

const STALLED_AFTER_MINUTES = 10;

/**
 * Webhooks with a backlog that are neither failing nor held back by their circuit, of which no delivery has ended for ten minutes,
 * and the age of the oldest movement that they were not sent. A large backlog that is being sent is not stalled. `progressed_at` is
 * looked at first, so that the log is read only for webhooks that have made no progress.
 */
const STALLED = `
  SELECT COUNT(*) AS webhooks, TIMESTAMPDIFF(SECOND, MIN(t.date_readed), NOW(6)) AS oldest_seconds
  FROM (
    SELECT ${FIRST_UNATTEMPTED} AS id
    FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    WHERE w.status = 'active' AND b.matched_through > c.sent_through AND c.failing_since IS NULL
      AND (c.circuit_open_until IS NULL OR c.circuit_open_until < NOW(6))
      AND (c.progressed_at IS NULL OR c.progressed_at < NOW(6) - INTERVAL ${STALLED_AFTER_MINUTES} MINUTE)) p
  JOIN transactions t ON t.id = p.id
  WHERE t.date_readed < NOW(6) - INTERVAL ${STALLED_AFTER_MINUTES} MINUTE`;

/** Index: operational_events_recent. */
const REPORTED = `
  SELECT 1 FROM operational_events FORCE INDEX (operational_events_recent)
  WHERE customer_id IS NULL AND type = 'delivery.stalled' AND created_at > NOW(6) - INTERVAL 1 HOUR LIMIT 1`;

/** The same in all processes within an hour. */
const HOUR = "SELECT DATE_FORMAT(NOW(6), '%Y-%m-%d %H') AS hour";

/** Records a `delivery.stalled` if webhooks are stalled: at most one an hour, for the operator. */
export async function reportStalledDeliveries(database: DataSource): Promise<void> {
  const [stalled] = await database.query<{ webhooks: string; oldest_seconds: string | null }[]>(STALLED);
  const webhooks = Number(stalled?.webhooks ?? 0);
  if (webhooks === 0) return;
  await inTransaction(database, async (sql) => {
    const reported = await sql.query<unknown[]>(REPORTED);
    if (reported.length > 0) return;
    const [now] = await sql.query<{ hour: string }[]>(HOUR);
    await recordEvent(sql, {
      type: 'delivery.stalled',
      customerId: null,
      occasion: `delivery.stalled ${now?.hour}`,
      data: { webhooks, oldest_seconds: Number(stalled?.oldest_seconds) },
    });
  });
}
