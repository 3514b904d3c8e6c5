import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Every table states its charset and collation: a server's default may be latin1, or a 0900 collation that
 * MariaDB does not know. `unique_id` and idempotency keys are VARBINARY, since even utf8mb4_bin pads with spaces
 * ('a' = 'a ') and these are compared byte by byte.
 *
 * The three hot tables (transactions, deliveries, attempts) carry no foreign keys: each would add a lookup and a
 * shared lock to every row stored. Nothing they point to is ever deleted from its table.
 */
const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';

const STATEMENTS = [
  // One row: something sealed, to tell at the start whether SECRET_KEY is still the same.
  `CREATE TABLE installation (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    sealed VARCHAR(255) NOT NULL
  ) ${TABLE}`,

  `CREATE TABLE customers (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(200) NOT NULL,
    api_secret VARCHAR(512) NOT NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
  ) ${TABLE}`,

  // Its own row per customer, which no foreign key points to: locked by each chunk of an import, so that ids and
  // date_readed grow in the order of commits.
  `CREATE TABLE import_locks (
    customer_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    last_transaction_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    last_date_readed DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00'
  ) ${TABLE}`,

  `CREATE TABLE api_keys (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    title VARCHAR(200) NOT NULL,
    prefix VARCHAR(16) NOT NULL,
    key_hash BINARY(32) NOT NULL,
    all_accounts TINYINT NOT NULL DEFAULT 1,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY api_keys_hash (key_hash),
    CONSTRAINT api_keys_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
  ) ${TABLE}`,

  `CREATE TABLE banks (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(200) NOT NULL,
    UNIQUE KEY banks_name (name)
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

  // transactions_customer_page and transactions_account_page hold date_issue, so that a page with `starts` and `ends`
  // filters inside the index; the former also account_id, for keys limited to some accounts.
  // transactions_account_date finds the ids between which a range of dates lies.
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
    KEY transactions_customer_page (customer_id, id, date_issue, account_id),
    KEY transactions_account_page (account_id, id, date_issue),
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
    bookmark INT UNSIGNED NOT NULL DEFAULT 0,
    tries TINYINT UNSIGNED NOT NULL DEFAULT 0,
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

  `CREATE TABLE import_pieces (
    import_id BIGINT UNSIGNED NOT NULL,
    seq INT UNSIGNED NOT NULL,
    bytes MEDIUMBLOB NOT NULL,
    PRIMARY KEY (import_id, seq),
    CONSTRAINT import_pieces_import FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
  ) ${TABLE}`,

  `CREATE TABLE import_errors (
    import_id BIGINT UNSIGNED NOT NULL,
    line INT UNSIGNED NOT NULL,
    path VARCHAR(100) NOT NULL,
    message VARCHAR(500) NOT NULL,
    PRIMARY KEY (import_id, line, path),
    CONSTRAINT import_errors_import FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // A deleted webhook keeps its row: its deliveries stay readable until retention takes them.
  `CREATE TABLE webhooks (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    title VARCHAR(200) NOT NULL,
    endpoint VARCHAR(2048) NOT NULL,
    event ENUM('NEW_TRANSACTION','NEW_DEBIT','NEW_CREDIT') NOT NULL,
    account_id BIGINT UNSIGNED NULL,
    status ENUM('active','paused','disabled','deleted') NOT NULL DEFAULT 'active',
    status_reason VARCHAR(500) NULL,
    secret VARCHAR(512) NOT NULL,
    previous_secret VARCHAR(512) NULL,
    previous_secret_until DATETIME(6) NULL,
    encoding ENUM('json','form') NOT NULL,
    hash_encoding ENUM('hex','raw') NOT NULL,
    ordered TINYINT NOT NULL DEFAULT 0,
    rate_limit INT UNSIGNED NULL,
    max_in_flight SMALLINT UNSIGNED NOT NULL,
    headers TEXT NULL,
    revision INT UNSIGNED NOT NULL DEFAULT 1,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY webhooks_customer (customer_id, status),
    CONSTRAINT webhooks_owner FOREIGN KEY (customer_id) REFERENCES customers (id),
    CONSTRAINT webhooks_account FOREIGN KEY (account_id) REFERENCES accounts (id)
  ) ${TABLE}`,

  // What the pump knows of a webhook's endpoint: who drains it now, and how the endpoint has been doing. Apart
  // from webhooks, so that the pump never waits for a row that the API holds, nor the other way round.
  `CREATE TABLE pumps (
    webhook_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    lease_token CHAR(22) CHARACTER SET ascii COLLATE ascii_bin NULL,
    lease_until DATETIME(6) NULL,
    tries TINYINT UNSIGNED NOT NULL DEFAULT 0,
    consecutive_failures INT UNSIGNED NOT NULL DEFAULT 0,
    failing_since DATETIME(6) NULL,
    pauses INT UNSIGNED NOT NULL DEFAULT 0,
    paused_until DATETIME(6) NULL,
    in_flight_limit SMALLINT UNSIGNED NULL DEFAULT 2,
    rate_next_at DATETIME(6) NULL,
    last_error VARCHAR(255) NULL,
    CONSTRAINT pumps_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
  ) ${TABLE}`,

  // due_at is NULL once a delivery has ended, and 1970-01-01 (due at once, whatever a clock says) until its first
  // attempt; deliveries_due therefore serves the pump, and lists ended ones in order of id.
  `CREATE TABLE deliveries (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    webhook_id BIGINT UNSIGNED NOT NULL,
    transaction_id BIGINT UNSIGNED NOT NULL,
    status ENUM('pending','delivered','failed','cancelled') NOT NULL DEFAULT 'pending',
    attempts SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    failures SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    due_at DATETIME(6) NULL DEFAULT '1970-01-01 00:00:00',
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    finished_at DATETIME(6) NULL,
    UNIQUE KEY deliveries_once (webhook_id, transaction_id),
    KEY deliveries_due (webhook_id, status, due_at, id)
  ) ${TABLE}`,

  `CREATE TABLE attempts (
    delivery_id BIGINT UNSIGNED NOT NULL,
    number SMALLINT UNSIGNED NOT NULL,
    outcome ENUM('delivered','failed','throttled','gone','refused') NOT NULL,
    status_code SMALLINT UNSIGNED NULL,
    started_at DATETIME(6) NOT NULL,
    duration_ms INT UNSIGNED NOT NULL,
    error VARCHAR(255) NULL,
    response TEXT NULL,
    PRIMARY KEY (delivery_id, number)
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
