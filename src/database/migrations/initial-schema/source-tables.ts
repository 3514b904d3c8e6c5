import { TABLE } from './table-options.ts';

/** Sources, from which files are collected, with their runs and files. */
export const SOURCE_TABLES = [
  // settings and schedule are JSON objects, credentials is a sealed one. next_run_at: when the next run is due; NULL while the source
  // is paused. is_requested: a run was asked for. run_id: the run in progress, whose process renews lease_until. position: where the
  // next run starts. revision changes with the settings: files that were collected with other settings are not known with these.
  // A deleted source keeps its row, which its imports refer to, until retention has removed them. sources_status finds the active
  // sources that have an error.
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
    create_accounts TINYINT NOT NULL,
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

  // Files that were collected. fingerprint: SHA-256 of the revision of the settings, the name and the version. import_id is NULL for a
  // file that was refused without being imported. outcome is pending until the import has ended and the file is marked in its source.
  `CREATE TABLE source_files (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    source_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    run_id BIGINT UNSIGNED NOT NULL,
    fingerprint BINARY(32) NOT NULL,
    name VARCHAR(1024) NOT NULL,
    version VARCHAR(255) NOT NULL,
    import_id BIGINT UNSIGNED NULL,
    outcome ENUM('pending','done','failed') NOT NULL DEFAULT 'pending',
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY source_files_fingerprint (source_id, fingerprint),
    KEY source_files_run (run_id, id),
    KEY source_files_outcome (outcome, source_id, id),
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
