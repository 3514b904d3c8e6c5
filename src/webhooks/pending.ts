/**
 * SQL for a webhook's number of pending deliveries, with `webhook_backlogs` as `b` and `webhook_cursors` as `c`. It is a
 * difference of counters, so it costs the same however large the backlog is.
 */
export const PENDING = 'GREATEST(CAST(b.matched_count AS SIGNED) - c.delivered_count - c.failed_count, 0)';
