import { TABLE } from './table-options.ts';

/** The tables of the installation, of customers, keys and accounts, and of sources, as the first migration creates them. */

/** Customers, their keys, banks and accounts. */
export const CUSTOMER_TABLES = [
  // Columns of sealed values are ascii_bin, so that they are compared byte by byte.
  //
  // One row for each SECRET_KEY in use, with a sealed value. At the start, it shows whether the process knows the key.
  `CREATE TABLE installation (
    key_id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    sealed VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
  ) ${TABLE}`,

  // One row: what tells this installation from another one that uses the same Redis.
  `CREATE TABLE installation_id (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    value CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
  ) ${TABLE}`,

  // One row: the oldest version that may use this schema.
  `CREATE TABLE minimum_version (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    version VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
  ) ${TABLE}`,

  // external_id: the id of the customer in the program that has created it. metadata: a JSON object. is_operator: 1 for the operator's own customer, which gets the operational events of all customers. NULL for all others, so
  // that the unique index allows only one operator.
  `CREATE TABLE customers (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(200) NOT NULL,
    external_id VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    metadata TEXT NULL,
    api_secret VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    is_operator TINYINT NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY customers_name (name),
    UNIQUE KEY customers_external_id (external_id),
    UNIQUE KEY customers_operator (is_operator)
  ) ${TABLE}`,

  // One row per customer, which no foreign key references. Each chunk of an import locks it, so that ids and date_readed grow in
  // commit order. filters_version changes with each row added to webhook_filters. removals changes when the checks of a running
  // import are out of date, for example when an account is to be deleted, or removed_before changes: movements issued before that
  // day have been removed. removed_through: no movement beyond this id was removed because it was old. accounts_deleted: how many accounts
  // have been deleted completely.
  `CREATE TABLE import_locks (
    customer_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    last_transaction_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    last_date_readed DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00',
    movements BIGINT UNSIGNED NOT NULL DEFAULT 0,
    filters_version INT UNSIGNED NOT NULL DEFAULT 0,
    removals INT UNSIGNED NOT NULL DEFAULT 0,
    accounts_deleted INT UNSIGNED NOT NULL DEFAULT 0,
    removed_before DATE NULL,
    removed_through BIGINT UNSIGNED NOT NULL DEFAULT 0
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

  // Only the SHA-256 of a token is stored.
  `CREATE TABLE operator_tokens (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    title VARCHAR(200) NOT NULL,
    role ENUM('viewer','operator','admin') NOT NULL,
    prefix VARCHAR(16) NOT NULL,
    token_hash BINARY(32) NOT NULL,
    expires_at DATETIME(6) NULL,
    last_used_at DATETIME(6) NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY operator_tokens_hash (token_hash)
  ) ${TABLE}`,

  // Each customer has its own banks, because another customer's spelling of a bank's name must never be visible.
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
    number VARCHAR(64) NULL,
    type VARCHAR(20) NULL,
    balance DECIMAL(21,3) NULL,
    status VARCHAR(16) NOT NULL DEFAULT 'active',
    on_conflict ENUM('hold','store') NOT NULL DEFAULT 'hold',
    late_after_days SMALLINT UNSIGNED NULL,
    check_balances TINYINT NOT NULL DEFAULT 0,
    statement_numbers ENUM('use','ignore') NOT NULL DEFAULT 'use',
    encoding VARCHAR(20) NULL,
    has_statements TINYINT NOT NULL DEFAULT 0,
    last_work DATETIME(6) NULL,
    last_update DATETIME(6) NULL,
    error VARCHAR(500) NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY accounts_iban (iban),
    KEY accounts_number (number),
    KEY accounts_title (title),
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

  // Accounts and customers (account_id 0) that are being deleted. A row is removed when the deletion is complete. movements: their
  // number when the deletion began; NULL: it has not begun.
  `CREATE TABLE deletions (
    customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    requested_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    movements BIGINT UNSIGNED NULL,
    movements_deleted BIGINT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (customer_id, account_id)
  ) ${TABLE}`,
];

/** Sources from which files are collected, with their runs and files. */
export const SOURCE_TABLES = [
  // settings and schedule are JSON objects. credentials is a sealed JSON object. next_run_at: when the next run is due; NULL while
  // the source is paused. is_requested: a run was asked for. run_id: the run in progress, whose process renews lease_until.
  // position: where the next run starts. revision changes with the settings, so that files collected with other settings are not
  // known. A deleted source keeps its row, which its imports refer to, until retention has removed them. sources_status finds the
  // active sources that have an error.
  `CREATE TABLE sources (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    title VARCHAR(200) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    settings TEXT NOT NULL,
    credentials TEXT CHARACTER SET ascii COLLATE ascii_bin NULL,
    schedule VARCHAR(500) NOT NULL,
    account_id BIGINT UNSIGNED NULL,
    format VARCHAR(16) NOT NULL,
    profile VARCHAR(64) NULL,
    encoding VARCHAR(20) NULL,
    create_accounts TINYINT NOT NULL,
    force_account TINYINT NOT NULL DEFAULT 0,
    settle_seconds SMALLINT UNSIGNED NULL,
    on_conflict ENUM('hold','store') NULL,
    status ENUM('active','paused','deleted') NOT NULL DEFAULT 'active',
    revision INT UNSIGNED NOT NULL DEFAULT 1,
    position TEXT NULL,
    next_run_at DATETIME(6) NULL,
    is_requested TINYINT NOT NULL DEFAULT 0,
    run_id BIGINT UNSIGNED NULL,
    lease_until DATETIME(6) NULL,
    last_run_at DATETIME(6) NULL,
    consecutive_failures INT UNSIGNED NOT NULL DEFAULT 0,
    error VARCHAR(500) NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY sources_page (customer_id, id),
    KEY sources_account (account_id),
    KEY sources_status (status, error(1)),
    KEY sources_title (title),
    CONSTRAINT sources_customer FOREIGN KEY (customer_id) REFERENCES customers (id),
    CONSTRAINT sources_account FOREIGN KEY (account_id) REFERENCES accounts (id)
  ) ${TABLE}`,

  `CREATE TABLE source_runs (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    source_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    status ENUM('running','done','failed') NOT NULL DEFAULT 'running',
    files INT UNSIGNED NOT NULL DEFAULT 0,
    error VARCHAR(500) NULL,
    started_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    finished_at DATETIME(6) NULL,
    KEY source_runs_page (source_id, id),
    CONSTRAINT source_runs_source FOREIGN KEY (source_id) REFERENCES sources (id)
  ) ${TABLE}`,

  // Files that were collected. fingerprint: SHA-256 of the revision of the settings, the name and the version. import_id is NULL
  // for a file that was refused without an import. outcome is pending until the import has ended and the file is marked in its
  // source. place is where the file was put then, and marked_at when; both are NULL for a file that nothing can change any more. When
  // its import was withdrawn, outcome may become again: the next run collects the file again. Then it is forgotten: its fingerprint is
  // one that no file has.
  `CREATE TABLE source_files (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    source_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    run_id BIGINT UNSIGNED NOT NULL,
    fingerprint BINARY(32) NOT NULL,
    name VARCHAR(1024) NOT NULL,
    version VARCHAR(255) NOT NULL,
    import_id BIGINT UNSIGNED NULL,
    outcome ENUM('pending','done','failed','again','forgotten') NOT NULL DEFAULT 'pending',
    place VARCHAR(1024) NULL,
    marked_at DATETIME(6) NULL,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY source_files_fingerprint (source_id, fingerprint),
    KEY source_files_run (run_id, id),
    KEY source_files_import (import_id),
    KEY source_files_outcome (outcome, source_id, id),
    KEY source_files_marked (source_id, marked_at),
    CONSTRAINT source_files_source FOREIGN KEY (source_id) REFERENCES sources (id)
  ) ${TABLE}`,

  // The accounts of the movements that a source has brought.
  `CREATE TABLE source_accounts (
    source_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (source_id, account_id),
    KEY source_accounts_account (account_id),
    CONSTRAINT source_accounts_source FOREIGN KEY (source_id) REFERENCES sources (id),
    CONSTRAINT source_accounts_account FOREIGN KEY (account_id) REFERENCES accounts (id)
  ) ${TABLE}`,
];
