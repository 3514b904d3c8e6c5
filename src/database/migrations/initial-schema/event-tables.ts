import { TABLE } from './table-options.ts';

/** Operational events. */
export const EVENT_TABLES = [
  // What has happened that somebody should know of, such as a webhook that was disabled. customer_id NULL: it concerns the operator
  // alone. webhook_id: the webhook that it is about, which is not sent it. occasion: equal for events that must exist only once; NULL
  // where the transaction that reports the event sees to that. dispatched_at NULL: its deliveries have not been made yet.
  //
  // Deliveries, retries and attempts hold ids of movements and of events in the same column, so these ids start at 2^52: no movement
  // has such an id, and as a JSON integer it is still exact.
  `CREATE TABLE operational_events (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NULL,
    webhook_id BIGINT UNSIGNED NULL,
    type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    occasion VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NULL,
    data TEXT NOT NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    dispatched_at DATETIME(6) NULL,
    UNIQUE KEY operational_events_occasion (occasion),
    KEY operational_events_recent (customer_id, type, created_at),
    KEY operational_events_created (created_at, id),
    KEY operational_events_undispatched (dispatched_at, id)
  ) ${TABLE} AUTO_INCREMENT = 4503599627370496`,
];
