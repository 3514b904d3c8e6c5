/**
 * SQL for the id of the first movement in the log that a webhook matches and was not sent, with `webhooks w`, `webhook_cursors c` and
 * `webhook_backlogs b`; NULL when there is none. `matched_after` skips a gap in which nothing matches. What the webhook matched
 * before its event or account were changed is not looked at. Indexes: transactions_customer_page, and the primary key of deliveries.
 */
export const FIRST_UNATTEMPTED = `(
  SELECT l.id FROM transactions l FORCE INDEX (transactions_customer_page)
  WHERE l.customer_id = w.customer_id
    AND l.id > IF(c.sent_through >= b.previous_through, GREATEST(c.sent_through, b.matched_after), c.sent_through)
    AND l.id <= b.matched_through AND (w.account_id IS NULL OR l.account_id = w.account_id)
    AND (w.event = 'NEW_TRANSACTION' OR w.event = CONCAT('NEW_', UPPER(l.dc)))
    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.transaction_id = l.id)
  ORDER BY l.customer_id, l.id LIMIT 1)`;
