import type { DataSource } from 'typeorm';
import { inTransaction } from '../database/transaction.ts';
import { recordEvent } from './operational-event.ts';
import { readWaitingWebhooks, STALLED_AFTER_MINUTES } from './waiting-webhooks.ts';

/** Reports webhooks that make no progress although their endpoints answer. */

/** Index: operational_events_recent. */
const FIND_RECENT_REPORT = `
  SELECT 1 FROM operational_events FORCE INDEX (operational_events_recent)
  WHERE customer_id IS NULL AND type = 'delivery.stalled' AND created_at > NOW(6) - INTERVAL 1 HOUR LIMIT 1`;

/** The same in all processes within an hour. */
const READ_HOUR = "SELECT DATE_FORMAT(NOW(6), '%Y-%m-%d %H') AS hour";

/**
 * Records a `delivery.stalled` for the operator, at most once an hour, if a webhook makes no progress although it has an unsent movement
 * older than ten minutes. A large backlog that is being sent is not stalled.
 */
export async function reportStalledDeliveries(database: DataSource): Promise<void> {
  const waiting = await readWaitingWebhooks(database, { failing: false, stalled: true });
  const stalled = waiting.filter(({ seconds }) => seconds > STALLED_AFTER_MINUTES * 60);
  const [oldest] = stalled;
  if (oldest === undefined) return;
  await inTransaction(database, async (sql) => {
    const reported = await sql.query<unknown[]>(FIND_RECENT_REPORT);
    if (reported.length > 0) return;
    const [now] = await sql.query<{ hour: string }[]>(READ_HOUR);
    await recordEvent(sql, {
      type: 'delivery.stalled',
      customerId: null,
      occasion: `delivery.stalled ${now?.hour}`,
      data: { webhooks: stalled.length, oldest_seconds: Math.floor(oldest.seconds) },
    });
  });
}
