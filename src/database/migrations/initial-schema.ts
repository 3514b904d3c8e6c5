import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Every table states its charset and collation, because a server's default may be latin1, or a 0900 collation that MariaDB does
 * not know. `unique_id` and idempotency keys are compared byte by byte. They are VARBINARY, because even utf8mb4_bin pads with
 * spaces ('a' = 'a ').
 *
 * The tables that grow with traffic (transactions, deliveries, retries, attempts) have no foreign keys: each would add a lookup
 * and a shared lock to every stored row. Each of these tables has customer_id, so that customers can be spread over servers.
 */
const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';

const STATEMENTS = [
  // Columns of sealed values are ascii_bin, so that they are compared byte by byte.
  //
  // One row for each SECRET_KEY in use, with a sealed value. It shows at the start whether this process knows the key.
  `CREATE TABLE installation (
    key_id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    sealed VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
  ) ${TABLE}`,

  `CREATE TABLE customers (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(200) NOT NULL,
    api_secret VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
  ) ${TABLE}`,

  // One row per customer, which no foreign key references. Each chunk of an import locks it, so that ids and date_readed grow in
  // commit order. filters_version changes with each row added to webhook_filters.
  `CREATE TABLE import_locks (
    customer_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    last_transaction_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    last_date_readed DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00',
    movements BIGINT UNSIGNED NOT NULL DEFAULT 0,
    filters_version INT UNSIGNED NOT NULL DEFAULT 0
  ) ${TABLE}`,

  `CREATE TABLE api_keys (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    title VARCHAR(200) NOT NULL,
    prefix VARCHAR(16) NOT NULL,
    key_hash BINARY(32) NOT NULL,
    all_accounts TINYINT NOT NULL DEFAULT 1,
    scopes VARCHAR(64) NOT NULL,
    last_used_at DATETIME(6) NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY api_keys_hash (key_hash),
    KEY api_keys_page (customer_id, id),
    CONSTRAINT api_keys_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
  ) ${TABLE}`,

  // Each customer has its own banks: how another customer spells a bank's name must never be visible.
  `CREATE TABLE banks (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    name VARCHAR(200) NOT NULL,
    UNIQUE KEY banks_name (customer_id, name),
    CONSTRAINT banks_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
  ) ${TABLE}`,

  `CREATE TABLE accounts (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    bank_id BIGINT UNSIGNED NOT NULL,
    title VARCHAR(200) NOT NULL,
    currency CHAR(3) NOT NULL,
    iban VARCHAR(34) NULL,
    balance DECIMAL(20,2) NULL,
    status VARCHAR(16) NOT NULL DEFAULT 'active',
    last_work DATETIME(6) NULL,
    last_update DATETIME(6) NULL,
    error VARCHAR(500) NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    CONSTRAINT accounts_customer FOREIGN KEY (customer_id) REFERENCES customers (id),
    CONSTRAINT accounts_bank FOREIGN KEY (bank_id) REFERENCES banks (id)
  ) ${TABLE}`,

  `CREATE TABLE api_key_accounts (
    api_key_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (api_key_id, account_id),
    CONSTRAINT api_key_accounts_key FOREIGN KEY (api_key_id) REFERENCES api_keys (id) ON DELETE CASCADE,
    CONSTRAINT api_key_accounts_account FOREIGN KEY (account_id) REFERENCES accounts (id)
  ) ${TABLE}`,

  // transactions_customer_page and transactions_account_page contain date_issue, so that a page with `starts` and `ends` is
  // filtered in the index, and dc, for webhooks that match only one direction. The first also contains account_id, for API keys
  // limited to some accounts. transactions_account_date finds the range of ids of a range of dates.
  `CREATE TABLE transactions (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    import_id BIGINT UNSIGNED NOT NULL,
    unique_id VARBINARY(1020) NOT NULL,
    name VARCHAR(255) NULL,
    dc ENUM('Debit','Credit') NOT NULL,
    code VARCHAR(64) NULL,
    amount DECIMAL(20,2) NOT NULL,
    balance DECIMAL(20,2) NULL,
    description TEXT NULL,
    date_issue DATE NOT NULL,
    date_readed DATETIME(6) NOT NULL,
    opponent_id VARCHAR(64) NULL,
    opponent_iban VARCHAR(64) NULL,
    UNIQUE KEY transactions_unique_id (account_id, unique_id),
    KEY transactions_customer_page (customer_id, id, date_issue, account_id, dc),
    KEY transactions_account_page (account_id, id, date_issue, dc),
    KEY transactions_account_date (account_id, date_issue, id),
    KEY transactions_readed (customer_id, date_readed, id)
  ) ${TABLE}`,

  `CREATE TABLE imports (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    api_key_id BIGINT UNSIGNED NOT NULL,
    format VARCHAR(16) NOT NULL,
    status ENUM('receiving','queued','running','done','failed') NOT NULL,
    idempotency_key VARBINARY(255) NULL,
    body_hash BINARY(32) NULL,
    checkpoint INT UNSIGNED NOT NULL DEFAULT 0,
    crash_count TINYINT UNSIGNED NOT NULL DEFAULT 0,
    received INT UNSIGNED NULL,
    inserted INT UNSIGNED NOT NULL DEFAULT 0,
    duplicates INT UNSIGNED NOT NULL DEFAULT 0,
    rejected INT UNSIGNED NOT NULL DEFAULT 0,
    deliveries INT UNSIGNED NOT NULL DEFAULT 0,
    error VARCHAR(500) NULL,
    received_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    started_at DATETIME(6) NULL,
    finished_at DATETIME(6) NULL,
    UNIQUE KEY imports_idempotency (customer_id, idempotency_key),
    KEY imports_page (customer_id, id),
    KEY imports_status (status, id),
    CONSTRAINT imports_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
  ) ${TABLE}`,

  // Responses of requests other than imports that came with an Idempotency-Key. status is NULL while a request is in progress.
  `CREATE TABLE idempotency_keys (
    customer_id BIGINT UNSIGNED NOT NULL,
    idempotency_key VARBINARY(255) NOT NULL,
    request_hash BINARY(32) NOT NULL,
    status SMALLINT UNSIGNED NULL,
    response TEXT CHARACTER SET ascii COLLATE ascii_bin NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    PRIMARY KEY (customer_id, idempotency_key),
    KEY idempotency_keys_created (created_at)
  ) ${TABLE}`,

  `CREATE TABLE import_parts (
    import_id BIGINT UNSIGNED NOT NULL,
    seq INT UNSIGNED NOT NULL,
    bytes MEDIUMBLOB NOT NULL,
    PRIMARY KEY (import_id, seq),
    CONSTRAINT import_parts_import FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
  ) ${TABLE}`,

  `CREATE TABLE import_errors (
    import_id BIGINT UNSIGNED NOT NULL,
    line INT UNSIGNED NOT NULL,
    path VARCHAR(100) NOT NULL,
    message VARCHAR(500) NOT NULL,
    PRIMARY KEY (import_id, line, path),
    CONSTRAINT import_errors_import FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // A deleted webhook keeps its row, so that its deliveries stay readable.
  `CREATE TABLE webhooks (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    title VARCHAR(200) NOT NULL,
    endpoint VARCHAR(2048) NOT NULL,
    event ENUM('NEW_TRANSACTION','NEW_DEBIT','NEW_CREDIT') NOT NULL,
    account_id BIGINT UNSIGNED NULL,
    status ENUM('active','paused','disabled','deleted') NOT NULL DEFAULT 'active',
    status_reason VARCHAR(500) NULL,
    secret VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    previous_secret VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NULL,
    previous_secret_until DATETIME(6) NULL,
    encoding ENUM('json','form') NOT NULL,
    hash_encoding ENUM('hex','raw') NOT NULL,
    ordered TINYINT NOT NULL DEFAULT 0,
    rate_limit INT UNSIGNED NULL,
    max_in_flight SMALLINT UNSIGNED NOT NULL,
    headers TEXT CHARACTER SET ascii COLLATE ascii_bin NULL,
    revision INT UNSIGNED NOT NULL DEFAULT 1,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY webhooks_customer (customer_id, status),
    CONSTRAINT webhooks_owner FOREIGN KEY (customer_id) REFERENCES customers (id),
    CONSTRAINT webhooks_account FOREIGN KEY (account_id) REFERENCES accounts (id)
  ) ${TABLE}`,

  // What a webhook matches among the movements with an id above from_id, up to the from_id of the next row. event NULL: nothing.
  // Rows are added while the customer's row in import_locks is locked, so that the boundary is exact.
  `CREATE TABLE webhook_filters (
    webhook_id BIGINT UNSIGNED NOT NULL,
    from_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    event ENUM('NEW_TRANSACTION','NEW_DEBIT','NEW_CREDIT') NULL,
    account_id BIGINT UNSIGNED NULL,
    PRIMARY KEY (webhook_id, from_id),
    CONSTRAINT webhook_filters_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // Updated when movements are stored. No movement beyond matched_through matches, and none with previous_through < id <=
  // matched_after, so a webhook that rarely matches need not search this gap. Example: after matches at 10 and 5,001, the second
  // in a chunk that began after 5,000, previous_through is 10 and matched_after is 5,000.
  `CREATE TABLE webhook_backlogs (
    webhook_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    matched_through BIGINT UNSIGNED NOT NULL DEFAULT 0,
    matched_count BIGINT UNSIGNED NOT NULL DEFAULT 0,
    matched_after BIGINT UNSIGNED NOT NULL DEFAULT 0,
    previous_through BIGINT UNSIGNED NOT NULL DEFAULT 0,
    CONSTRAINT webhook_backlogs_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // How far a webhook's delivery runs have got, its lease, and the health of its endpoint. Separate from webhooks and
  // webhook_backlogs, so that runs, the importer and the API never wait for each other's rows. Every matching movement up to
  // sent_through has a row in deliveries. No movement beyond recorded_through has one. lease_until NULL: no run holds the lease.
  `CREATE TABLE webhook_cursors (
    webhook_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    sent_through BIGINT UNSIGNED NOT NULL DEFAULT 0,
    recorded_through BIGINT UNSIGNED NOT NULL DEFAULT 0,
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
    rate_next_at DATETIME(6) NULL,
    last_error VARCHAR(255) NULL,
    CONSTRAINT webhook_cursors_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // One row per delivery, written when its first attempt has ended. The columns from outcome on describe its last attempt.
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
    error VARCHAR(255) NULL,
    response TEXT NULL,
    PRIMARY KEY (webhook_id, transaction_id)
  ) ${TABLE}`,

  // Deliveries whose last attempt failed, or that were requested again. They are due at due_at. NULL: failed for good (dead
  // letters). A row is deleted when its delivery is delivered.
  `CREATE TABLE retries (
    webhook_id BIGINT UNSIGNED NOT NULL,
    transaction_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    due_at DATETIME(6) NULL,
    attempts SMALLINT UNSIGNED NOT NULL,
    failures SMALLINT UNSIGNED NOT NULL,
    PRIMARY KEY (webhook_id, transaction_id),
    KEY retries_due (webhook_id, due_at, transaction_id)
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
    error VARCHAR(255) NULL,
    response TEXT NULL,
    PRIMARY KEY (webhook_id, transaction_id, number)
  ) ${TABLE}`,

  // Ranges of movement ids whose deliveries are sent again. Delivery runs process them in the order of the ids, starting after
  // position. account_ids: a comma-separated list, for an API key that is limited to accounts. NULL: all.
  `CREATE TABLE replays (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    webhook_id BIGINT UNSIGNED NOT NULL,
    statuses SET('delivered','failed') NOT NULL,
    account_ids TEXT NULL,
    position BIGINT UNSIGNED NOT NULL,
    until_id BIGINT UNSIGNED NOT NULL,
    replayed BIGINT UNSIGNED NOT NULL DEFAULT 0,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    finished_at DATETIME(6) NULL,
    KEY replays_open (webhook_id, finished_at, id),
    CONSTRAINT replays_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // A segment has some thousand movements of a customer, in the order of their ids: after the previous segment, up to last_id. It
  // has a row for each account with movements in it, and one for all accounts, whose account_id is 0. Rows never change.
  `CREATE TABLE transaction_segments (
    customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    last_id BIGINT UNSIGNED NOT NULL,
    movements INT UNSIGNED NOT NULL,
    first_date_issue DATE NOT NULL,
    last_date_issue DATE NOT NULL,
    PRIMARY KEY (customer_id, account_id, last_id)
  ) ${TABLE}`,

  // The end of a customer's last segment. Separate from import_locks, so that no import waits while segments are made.
  `CREATE TABLE segment_checkpoints (
    customer_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    last_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    movements BIGINT UNSIGNED NOT NULL DEFAULT 0
  ) ${TABLE}`,
];

export class InitialSchema1763700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of STATEMENTS) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    const tables = STATEMENTS.map((statement) => /CREATE TABLE (\w+)/.exec(statement)?.[1]).reverse();
    for (const table of tables) await runner.query(`DROP TABLE ${table}`);
  }
}
