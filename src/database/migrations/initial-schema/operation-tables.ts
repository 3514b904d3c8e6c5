import { TABLE } from './table-options.ts';

/** What operators look at: the processes that run, and who has changed what. */
export const OPERATION_TABLES = [
  // One row per process, renewed every 5 s and removed when the process stops. roles: separated by commas. cpu_percent is of one
  // core, loop_delay_ms the 99th percentile of the event loop's delay since the last heartbeat.
  `CREATE TABLE processes (
    id CHAR(22) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    roles VARCHAR(64) NOT NULL,
    version VARCHAR(32) NOT NULL,
    host VARCHAR(255) NOT NULL,
    pid INT UNSIGNED NOT NULL,
    cpu_percent SMALLINT UNSIGNED NOT NULL,
    loop_delay_ms INT UNSIGNED NOT NULL,
    memory_mib INT UNSIGNED NOT NULL,
    started_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    seen_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
  ) ${TABLE}`,

  // Every change by an API key, in the console or by the command line, written in the transaction of the change. subject is what was
  // changed, such as "webhook 12". detail never holds a secret. customer_id is NULL for what belongs to no customer, such as a queue.
  `CREATE TABLE audit_events (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    customer_id BIGINT UNSIGNED NULL,
    source ENUM('api','console','command line','configuration') NOT NULL,
    actor VARCHAR(255) NOT NULL,
    action VARCHAR(64) NOT NULL,
    subject VARCHAR(64) NOT NULL,
    detail VARCHAR(500) NOT NULL DEFAULT '',
    KEY audit_events_customer (customer_id, id),
    KEY audit_events_source (source, id),
    KEY audit_events_subject (subject, id)
  ) ${TABLE}`,
];
