import { TABLE } from './table-options.ts';

/** The tables of webhooks and deliveries, of operational events, and of the operation, as the first migration creates them. */

/** Webhooks, their progress, and deliveries. */
export const WEBHOOK_TABLES = [
  // A deleted webhook keeps its row, so that its deliveries stay readable. delivery: push sends POSTs to endpoint; the events of pull are
  // read from its feed, and endpoint and secret are NULL. withdrawals: 1 if it has the event WITHDRAWN_TRANSACTION, alone or beside event. batch_max NULL: each event is a POST of its own. paused_by: the operator who has
  // paused it, and where; NULL: its owner, or the service, which gives a status_reason.
  //
  // is_template: the row is no webhook that is sent anything, but a template of the operator's customer. It has one webhook for each customer
  // that it matches (template_id). Such a webhook has its own customer, event, withdrawals, progress and lease. Its other settings, its secret
  // and the health of its endpoint are those of its template. Its status is that of its template too, unless it is paused (by the service) or
  // deleted itself. ended: its customer does not match the template any more. It matches nothing, and what is pending is still sent.
  `CREATE TABLE webhooks (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    is_template TINYINT NOT NULL DEFAULT 0,
    template_id BIGINT UNSIGNED NULL,
    title VARCHAR(200) NOT NULL,
    description VARCHAR(500) NULL,
    delivery ENUM('push','pull') NOT NULL DEFAULT 'push',
    endpoint VARCHAR(2048) NULL,
    event ENUM('NEW_TRANSACTION','NEW_DEBIT','NEW_CREDIT','WITHDRAWN_TRANSACTION','OPERATIONAL','BALANCE_UPDATED') NOT NULL,
    withdrawals TINYINT NOT NULL DEFAULT 0,
    account_id BIGINT UNSIGNED NULL,
    status ENUM('active','paused','disabled','ended','deleted') NOT NULL DEFAULT 'active',
    status_reason VARCHAR(500) NULL,
    paused_by VARCHAR(255) NULL,
    secret VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NULL,
    previous_secret VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NULL,
    previous_secret_until DATETIME(6) NULL,
    encoding ENUM('json','form') NOT NULL,
    body ENUM('standard','extended') NOT NULL DEFAULT 'standard',
    hash_encoding ENUM('hex','raw') NOT NULL,
    ordered TINYINT NOT NULL DEFAULT 0,
    rate_limit INT UNSIGNED NULL,
    max_in_flight SMALLINT UNSIGNED NOT NULL,
    batch_max SMALLINT UNSIGNED NULL,
    batch_wait_ms INT UNSIGNED NOT NULL DEFAULT 0,
    headers TEXT CHARACTER SET ascii COLLATE ascii_bin NULL,
    revision INT UNSIGNED NOT NULL DEFAULT 1,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY webhooks_customer (customer_id, status),
    KEY webhooks_status (status, id),
    KEY webhooks_delivery (delivery, status, id),
    KEY webhooks_title (title),
    KEY webhooks_templates (is_template, id),
    UNIQUE KEY webhooks_of_template (template_id, customer_id),
    KEY webhooks_template_status (template_id, status),
    CONSTRAINT webhooks_template FOREIGN KEY (template_id) REFERENCES webhooks (id),
    CONSTRAINT webhooks_owner FOREIGN KEY (customer_id) REFERENCES customers (id),
    CONSTRAINT webhooks_account FOREIGN KEY (account_id) REFERENCES accounts (id)
  ) ${TABLE}`,

  // Which customers the templates match, and how far their webhooks are. metadata: a JSON object, all of whose members a customer must have;
  // NULL: all customers. checked_through: the customers up to this id have what the template now says; NULL: all have. The regular check goes
  // through them, and keeps the sums of the webhooks in the template's rows of webhook_backlogs and webhook_cursors. replay_*: a replay of all
  // webhooks. Those up to replay_through have theirs; NULL: none is requested.
  `CREATE TABLE webhook_templates (
    webhook_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    metadata TEXT NULL,
    checked_through BIGINT UNSIGNED NULL DEFAULT 0,
    replay_since DATETIME(6) NULL,
    replay_until DATETIME(6) NULL,
    replay_statuses VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
    replay_through BIGINT UNSIGNED NULL,
    KEY webhook_templates_unchecked (checked_through),
    KEY webhook_templates_replay (replay_through),
    CONSTRAINT webhook_templates_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // The filter of a webhook for the movements with an id above from_id, up to the from_id of the next row. event NULL: nothing
  // matches. event and withdrawals are those of webhooks. Rows are added while the customer's row in import_locks is locked, so that the boundary is exact.
  `CREATE TABLE webhook_filters (
    webhook_id BIGINT UNSIGNED NOT NULL,
    from_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    event ENUM('NEW_TRANSACTION','NEW_DEBIT','NEW_CREDIT','WITHDRAWN_TRANSACTION') NULL,
    withdrawals TINYINT NOT NULL DEFAULT 0,
    account_id BIGINT UNSIGNED NULL,
    PRIMARY KEY (webhook_id, from_id),
    CONSTRAINT webhook_filters_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // Updated when movements are stored. No movement beyond matched_through matches. due_at: when the reconciler next checks the
  // webhook. NULL: nothing is pending, or the events are pulled.
  `CREATE TABLE webhook_backlogs (
    webhook_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    matched_through BIGINT UNSIGNED NOT NULL DEFAULT 0,
    matched_count BIGINT UNSIGNED NOT NULL DEFAULT 0,
    due_at DATETIME(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY webhook_backlogs_due (due_at, webhook_id),
    CONSTRAINT webhook_backlogs_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // The progress of a webhook's delivery runs, its lease, and its endpoint health. Separate from webhooks and webhook_backlogs, so
  // that runs, the importer and the API never wait for each other's rows. Every matching movement up to sent_through has a row in
  // deliveries. No movement beyond highest_recorded_id has such a row. Between the two, some movements have it. lease_until NULL:
  // no run holds the lease. unreported_failures: deliveries that failed for good since the last operational event about them
  // (failures_reported_at). batch_limit: the most events of the next batch, after a rejected one; NULL: batch_max. progressed_at: when a delivery last ended, or the endpoint health was reset. A webhook with the delivery pull
  // uses only sent_through, up to which its reader has acknowledged, the two counts, progressed_at and the columns of the feed.
  // probe_until: of a template with a half-open circuit, until when a webhook (probe_by) has the right to send the probe.
  // feed_epoch grows with each replay, after which earlier cursors are refused. feed_sample_at: a test was requested, and its sample
  // comes with the next answer.
  `CREATE TABLE webhook_cursors (
    webhook_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    sent_through BIGINT UNSIGNED NOT NULL DEFAULT 0,
    highest_recorded_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    delivered_count BIGINT NOT NULL DEFAULT 0,
    failed_count BIGINT NOT NULL DEFAULT 0,
    lease_token CHAR(22) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until DATETIME(6) NULL,
    lease_writes INT UNSIGNED NOT NULL DEFAULT 0,
    crash_count TINYINT UNSIGNED NOT NULL DEFAULT 0,
    health_revision INT UNSIGNED NOT NULL DEFAULT 0,
    consecutive_failures INT UNSIGNED NOT NULL DEFAULT 0,
    failing_since DATETIME(6) NULL,
    failing_days SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    circuit_openings INT UNSIGNED NOT NULL DEFAULT 0,
    circuit_open_until DATETIME(6) NULL,
    recovery_successes SMALLINT UNSIGNED NULL DEFAULT 0,
    probe_until DATETIME(6) NULL,
    probe_by BIGINT UNSIGNED NULL,
    consecutive_rejections INT UNSIGNED NOT NULL DEFAULT 0,
    batch_limit SMALLINT UNSIGNED NULL,
    rate_next_at DATETIME(6) NULL,
    last_error VARCHAR(255) NULL,
    unreported_failures BIGINT UNSIGNED NOT NULL DEFAULT 0,
    failures_reported_at DATETIME(6) NULL,
    progressed_at DATETIME(6) NULL,
    feed_epoch INT UNSIGNED NOT NULL DEFAULT 0,
    feed_sample_at DATETIME(6) NULL,
    KEY webhook_cursors_failing (failing_since),
    KEY webhook_cursors_unreported (unreported_failures),
    CONSTRAINT webhook_cursors_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // How webhooks have fared that failed or were behind within the last hour. Written by the maintenance process, which looks at them every
  // ten seconds. failing: as it was at the last look. sampled_* and next_*: the counters at two moments, of which the pace follows.
  `CREATE TABLE webhook_standings (
    webhook_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    failing TINYINT NOT NULL,
    changed_at DATETIME(6) NULL,
    recovered_1 DATETIME(6) NULL,
    recovered_2 DATETIME(6) NULL,
    recovered_3 DATETIME(6) NULL,
    flapping_since DATETIME(6) NULL,
    behind_since DATETIME(6) NULL,
    sampled_at DATETIME(6) NULL,
    sampled_matched BIGINT NULL,
    sampled_finished BIGINT NULL,
    next_at DATETIME(6) NULL,
    next_matched BIGINT NULL,
    next_finished BIGINT NULL,
    CONSTRAINT webhook_standings_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // One row per delivery, written when its first attempt has ended. transaction_id, here and in the following tables, is the id of
  // a movement. If the event of the webhook is OPERATIONAL or BALANCE_UPDATED, it is the id of a row of operational_events.
  // (Whether a webhook has one of these events never changes.) The columns from outcome on describe the last attempt. posts: how often the
  // attempt sent its POST. batch_first: the transaction_id of the first delivery of the POST, which has its response; NULL: the POST
  // was for this delivery alone.
  `CREATE TABLE deliveries (
    webhook_id BIGINT UNSIGNED NOT NULL,
    transaction_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    status ENUM('pending','delivered','failed') NOT NULL,
    attempts SMALLINT UNSIGNED NOT NULL,
    outcome ENUM('delivered','failed','throttled','gone','refused') NOT NULL,
    status_code SMALLINT UNSIGNED NULL,
    started_at DATETIME(6) NOT NULL,
    duration_ms INT UNSIGNED NOT NULL,
    posts TINYINT UNSIGNED NOT NULL DEFAULT 1,
    error VARCHAR(255) NULL,
    response TEXT NULL,
    batch_first BIGINT UNSIGNED NULL,
    PRIMARY KEY (webhook_id, transaction_id)
  ) ${TABLE}`,

  // Deliveries whose last attempt failed, or that were requested again, and deliveries of operational events. They are due at
  // due_at. NULL: failed for good (dead letter). A row is deleted when its delivery succeeds. replay_id: the replay that requested the
  // delivery again; NULL: none.
  `CREATE TABLE retries (
    webhook_id BIGINT UNSIGNED NOT NULL,
    transaction_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    due_at DATETIME(6) NULL,
    attempts SMALLINT UNSIGNED NOT NULL,
    failures SMALLINT UNSIGNED NOT NULL,
    replay_id BIGINT UNSIGNED NULL,
    PRIMARY KEY (webhook_id, transaction_id),
    KEY retries_due (webhook_id, due_at, transaction_id, replay_id)
  ) ${TABLE}`,

  // Failed attempts, and the last attempt before a delivery was requested again.
  `CREATE TABLE attempts (
    webhook_id BIGINT UNSIGNED NOT NULL,
    transaction_id BIGINT UNSIGNED NOT NULL,
    number SMALLINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    outcome ENUM('delivered','failed','throttled','gone','refused') NOT NULL,
    status_code SMALLINT UNSIGNED NULL,
    started_at DATETIME(6) NOT NULL,
    duration_ms INT UNSIGNED NOT NULL,
    posts TINYINT UNSIGNED NOT NULL DEFAULT 1,
    error VARCHAR(255) NULL,
    response TEXT NULL,
    batch_first BIGINT UNSIGNED NULL,
    PRIMARY KEY (webhook_id, transaction_id, number)
  ) ${TABLE}`,

  // Batches that the receiver has rejected as a whole: the newest 100 of a webhook. Their deliveries are sent again in smaller ones, and have
  // no attempt by this. The events of the batch are among those from first_id to last_id.
  `CREATE TABLE rejected_batches (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    webhook_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    first_id BIGINT UNSIGNED NOT NULL,
    last_id BIGINT UNSIGNED NOT NULL,
    events SMALLINT UNSIGNED NOT NULL,
    status_code SMALLINT UNSIGNED NOT NULL,
    started_at DATETIME(6) NOT NULL,
    duration_ms INT UNSIGNED NOT NULL,
    response TEXT NULL,
    KEY rejected_batches_webhook (webhook_id, first_id),
    KEY rejected_batches_started (started_at)
  ) ${TABLE}`,

  // Ranges of movement ids whose deliveries are sent again. Delivery runs process them in the order of the ids, starting after
  // position. account_ids: a comma-separated list, for an API key that is limited to accounts; NULL: all accounts.
  // replayed: how many became pending. to_come: how many have still to become pending; NULL: not counted yet. withdrawn: how many of
  // the replayed were not sent, because the replay was cancelled. started_at: when the first became pending. finished_at: when nothing
  // more is to become pending; of a cancelled replay, when nothing more is to be withdrawn.
  `CREATE TABLE replays (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    webhook_id BIGINT UNSIGNED NOT NULL,
    statuses SET('delivered','failed') NOT NULL,
    account_ids TEXT NULL,
    position BIGINT UNSIGNED NOT NULL,
    until_id BIGINT UNSIGNED NOT NULL,
    replayed BIGINT UNSIGNED NOT NULL DEFAULT 0,
    to_come BIGINT UNSIGNED NULL,
    withdrawn BIGINT UNSIGNED NOT NULL DEFAULT 0,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    started_at DATETIME(6) NULL,
    cancelled_at DATETIME(6) NULL,
    finished_at DATETIME(6) NULL,
    KEY replays_open (webhook_id, finished_at, id),
    CONSTRAINT replays_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,
];

/** Operational events. */
export const EVENT_TABLES = [
  // Events that somebody should know of, such as a webhook that was disabled. customer_id NULL: the event concerns only the
  // operator. webhook_id: the webhook that the event is about. The event is not sent to that webhook. account_id: the account that
  // the event is about. occasion: equal for events that must exist only once; NULL if the reporting transaction ensures that.
  // dispatched_at NULL: the event has no deliveries yet.
  `CREATE TABLE operational_events (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NULL,
    webhook_id BIGINT UNSIGNED NULL,
    account_id BIGINT UNSIGNED NULL,
    type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    occasion VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NULL,
    data TEXT NOT NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    dispatched_at DATETIME(6) NULL,
    UNIQUE KEY operational_events_occasion (occasion),
    KEY operational_events_recent (customer_id, type, created_at),
    KEY operational_events_account (account_id),
    KEY operational_events_created (created_at, id),
    KEY operational_events_undispatched (dispatched_at, id)
  ) ${TABLE}`,
];

/** For operators: the running processes, and the audit of changes. */
export const OPERATION_TABLES = [
  // One row per process, renewed every 5 s and removed when the process stops. name: the supervisor's name for the process, such as
  // api-1. roles: separated by commas. plain_text_host: its OPS_HOST, if passwords of operators
  // cross the network to it in plain text. cpu_percent is of one core. loop_delay_ms is the 99th percentile of the event loop's delay
  // since the last heartbeat. mysql_problem, redis_problem, dns_problem: what is wrong with them as this process sees it. clock_ahead_ms: of its
  // clock, against MySQL's. steady_since: since then, no heartbeat was left out. sessions: its connections, as id:port,
  // which others end when it stops answering. killed_at: its supervisor has killed it, because it did not answer.
  `CREATE TABLE processes (
    id CHAR(22) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    name VARCHAR(32) NOT NULL DEFAULT '',
    roles VARCHAR(64) NOT NULL,
    version VARCHAR(32) NOT NULL,
    host VARCHAR(255) NOT NULL,
    pid INT UNSIGNED NOT NULL,
    time_zone_offset VARCHAR(6) NOT NULL,
    plain_text_host VARCHAR(255) NULL,
    cpu_percent SMALLINT UNSIGNED NOT NULL,
    loop_delay_ms INT UNSIGNED NOT NULL,
    memory_mib INT UNSIGNED NOT NULL,
    mysql_problem VARCHAR(160) NULL,
    redis_problem VARCHAR(160) NULL,
    dns_problem VARCHAR(160) NULL,
    clock_ahead_ms BIGINT NULL,
    sessions VARCHAR(2000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    steady_since DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    started_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    seen_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    killed_at DATETIME(6) NULL
  ) ${TABLE}`,

  // One row, which every process writes now and then, to know that MySQL takes writes.
  `CREATE TABLE write_checks (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    written_at DATETIME(6) NOT NULL
  ) ${TABLE}`,

  // Every change by an API key, in the console or by the command line, written in the transaction of the change. subject is the
  // changed thing, such as "webhook 12". detail never contains a secret. customer_id is NULL for things that belong to no customer,
  // such as a queue.
  `CREATE TABLE audit_events (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    customer_id BIGINT UNSIGNED NULL,
    source ENUM('api','operator token','console','command line','configuration') NOT NULL,
    actor VARCHAR(255) NOT NULL,
    action VARCHAR(64) NOT NULL,
    subject VARCHAR(64) NOT NULL,
    detail VARCHAR(500) NOT NULL DEFAULT '',
    KEY audit_events_customer (customer_id, id),
    KEY audit_events_source (source, id),
    KEY audit_events_subject (subject, id)
  ) ${TABLE}`,
];
