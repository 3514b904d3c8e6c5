import { TABLE } from './table-options.ts';

/** The tables of imports, movements and statements, as the first migration creates them. */

/** The columns of a movement, stored or withdrawn. */
const MOVEMENT_COLUMNS = `customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    import_id BIGINT UNSIGNED NOT NULL,
    unique_id VARBINARY(1020) NOT NULL,
    name VARCHAR(255) NULL,
    dc ENUM('Debit','Credit') NOT NULL,
    code VARCHAR(64) NULL,
    amount DECIMAL(21,3) NOT NULL,
    balance DECIMAL(21,3) NULL,
    description TEXT NULL,
    date_issue DATE NOT NULL,
    date_readed DATETIME(6) NOT NULL,
    opponent_id VARCHAR(64) NULL,
    opponent_iban VARCHAR(64) NULL`;

/** Movements, imports, and the segments of the listing. */
export const MOVEMENT_TABLES = [
  // transactions_customer_page and transactions_account_page contain date_issue, so that a page with `starts` and `ends` is
  // filtered in the index. The first also contains account_id, for API keys limited to some accounts. transactions_customer_dc and
  // transactions_account_dc are the log of webhooks that match one direction, so that a webhook with few matches does not read all
  // other movements. transactions_account_date finds the range of ids for a range of dates.
  `CREATE TABLE transactions (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    ${MOVEMENT_COLUMNS},
    UNIQUE KEY transactions_unique_id (account_id, unique_id),
    KEY transactions_customer_page (customer_id, id, date_issue, account_id),
    KEY transactions_account_page (account_id, id, date_issue),
    KEY transactions_customer_dc (customer_id, dc, id),
    KEY transactions_account_dc (account_id, dc, id),
    KEY transactions_account_date (account_id, date_issue, id),
    KEY transactions_readed (customer_id, date_readed, id)
  ) ${TABLE}`,

  // open_statement_id: the reserved id of the statement that continues after the checkpoint. Its row is inserted when the statement
  // ends. An import was sent with an API key, or collected by a source. format is the sender's, and may be auto. detected_format is
  // the format of its first statement. members: what came of the files of a zip, as JSON. contradicts: the ids of stored statements, as JSON. retried_at: when the import was last queued again after it had failed. traceparent names the
  // span that its runs belong to; NULL while traces are off. first_readed and last_readed: between these date_readed are the movements that the
  // import has stored, and the few that other imports of the customer stored at the same time.
  `CREATE TABLE imports (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    api_key_id BIGINT UNSIGNED NULL,
    source_id BIGINT UNSIGNED NULL,
    operator VARCHAR(255) NULL,
    format VARCHAR(16) NOT NULL,
    detected_format VARCHAR(16) NULL,
    account_id BIGINT UNSIGNED NULL,
    profile VARCHAR(64) NULL,
    create_accounts TINYINT NOT NULL DEFAULT 0,
    force_account TINYINT NOT NULL DEFAULT 0,
    unidentified ENUM('known','store') NOT NULL DEFAULT 'known',
    status ENUM('receiving','queued','running','done','failed') NOT NULL,
    idempotency_key VARBINARY(255) NULL,
    body_hash BINARY(32) NULL,
    traceparent CHAR(55) CHARACTER SET ascii COLLATE ascii_bin NULL,
    checkpoint INT UNSIGNED NOT NULL DEFAULT 0,
    crash_count TINYINT UNSIGNED NOT NULL DEFAULT 0,
    received INT UNSIGNED NULL,
    inserted INT UNSIGNED NOT NULL DEFAULT 0,
    duplicates INT UNSIGNED NOT NULL DEFAULT 0,
    changed INT UNSIGNED NOT NULL DEFAULT 0,
    assumed_duplicates INT UNSIGNED NOT NULL DEFAULT 0,
    assumed_new INT UNSIGNED NOT NULL DEFAULT 0,
    conflicts INT UNSIGNED NOT NULL DEFAULT 0,
    rejected INT UNSIGNED NOT NULL DEFAULT 0,
    deliveries INT UNSIGNED NOT NULL DEFAULT 0,
    statements INT UNSIGNED NOT NULL DEFAULT 0,
    warnings INT UNSIGNED NOT NULL DEFAULT 0,
    open_statement_id BIGINT UNSIGNED NULL,
    error VARCHAR(500) NULL,
    members MEDIUMTEXT NULL,
    contradicts TEXT CHARACTER SET ascii COLLATE ascii_bin NULL,
    received_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    retried_at DATETIME(6) NULL,
    started_at DATETIME(6) NULL,
    finished_at DATETIME(6) NULL,
    first_readed DATETIME(6) NULL,
    last_readed DATETIME(6) NULL,
    UNIQUE KEY imports_idempotency (customer_id, idempotency_key),
    KEY imports_page (customer_id, id),
    KEY imports_status (status, id),
    KEY imports_customer_status (customer_id, status, id),
    CONSTRAINT imports_sender CHECK ((api_key_id IS NULL) + (source_id IS NULL) + (operator IS NULL) = 2),
    CONSTRAINT imports_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
  ) ${TABLE}`,

  // Responses to requests with an Idempotency-Key, except imports. status is NULL while a request is in progress.
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

  // One row. A process locks it while it stores a group of small imports, so that the groups of several processes take turns.
  `CREATE TABLE group_commits (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY
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
    severity ENUM('error','warning') NOT NULL,
    line INT UNSIGNED NOT NULL,
    path VARCHAR(100) NOT NULL,
    message VARCHAR(500) NOT NULL,
    PRIMARY KEY (import_id, severity, line, path, message(250)),
    CONSTRAINT import_errors_import FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // The rows of an import that were not stored because their movements were known, and rows that were stored although they may be
  // known. transaction_id: the movement that the row was taken for, or stored as.
  `CREATE TABLE import_duplicates (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    import_id BIGINT UNSIGNED NOT NULL,
    line INT UNSIGNED NOT NULL,
    reason ENUM('same','changed','assumed','conflict','assumed_new') NOT NULL,
    transaction_id BIGINT UNSIGNED NOT NULL,
    KEY import_duplicates_import (import_id, id),
    KEY import_duplicates_movement (transaction_id, import_id),
    CONSTRAINT import_duplicates_import FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // Rows with the unique_id of a stored movement (transaction_id) but another direction, amount or date. received: the whole row,
  // as JSON. stored_id: the movement that was stored from the row. is_withdrawn: the import of the row was withdrawn, so that the same row
  // conflicts anew.
  `CREATE TABLE movement_conflicts (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    transaction_id BIGINT UNSIGNED NOT NULL,
    dc ENUM('Debit','Credit') NOT NULL,
    amount DECIMAL(21,3) NOT NULL,
    date_issue DATE NOT NULL,
    received TEXT NOT NULL,
    import_id BIGINT UNSIGNED NOT NULL,
    line INT UNSIGNED NOT NULL,
    status ENUM('open','stored','ignored') NOT NULL DEFAULT 'open',
    stored_id BIGINT UNSIGNED NULL,
    received_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    decided_at DATETIME(6) NULL,
    is_withdrawn BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE KEY movement_conflicts_version (transaction_id, dc, amount, date_issue),
    KEY movement_conflicts_page (customer_id, id),
    KEY movement_conflicts_page_status (customer_id, status, id),
    KEY movement_conflicts_account (account_id, id),
    KEY movement_conflicts_account_status (account_id, status, id),
    KEY movement_conflicts_status (status, id),
    KEY movement_conflicts_stored (stored_id)
  ) ${TABLE}`,

  // Statements of files, each stored once. difference: by how much the entries miss the closing balance; NULL: there is no
  // difference, or it is not known. span: how many octal digits the number of days from its first to its last day has.
  `CREATE TABLE statements (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    import_id BIGINT UNSIGNED NOT NULL,
    line INT UNSIGNED NOT NULL,
    format VARCHAR(16) NOT NULL,
    kind ENUM('final','interim') NOT NULL,
    number VARCHAR(64) NULL,
    sequence VARCHAR(64) NULL,
    from_date DATE NULL,
    to_date DATE NULL,
    span TINYINT UNSIGNED AS (LENGTH(CONV(GREATEST(DATEDIFF(to_date, from_date), 0), 10, 8))) STORED,
    opening_balance DECIMAL(21,3) NULL,
    closing_balance DECIMAL(21,3) NULL,
    opening_balance_date DATE NULL,
    closing_balance_date DATE NULL,
    difference DECIMAL(21,3) NULL,
    credits DECIMAL(21,3) NOT NULL,
    debits DECIMAL(21,3) NOT NULL,
    entries INT UNSIGNED NOT NULL,
    fingerprint BINARY(16) NOT NULL,
    received_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY statements_same (account_id, fingerprint),
    KEY statements_page (account_id, id),
    KEY statements_time (account_id, kind, to_date),
    KEY statements_span (account_id, kind, span, to_date),
    KEY statements_import (import_id, account_id),
    CONSTRAINT statements_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // Details of movements that came in statements, also of withdrawn movements. A movement sent as JSON has no row. reverses: the movement that this movement
  // takes back. batch_amount: of the bank's entry of which the movement is one of the details, negative for a debit. is_reversal: the file calls the entry a reversal. line: the line in the file. position: the entry's number in the file. statement_id: the row in statements may be
  // inserted later, at the end of a long statement.
  `CREATE TABLE transaction_details (
    transaction_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    statement_id BIGINT UNSIGNED NULL,
    line INT UNSIGNED NOT NULL,
    position INT UNSIGNED NOT NULL,
    currency CHAR(3) NULL,
    value_date DATE NULL,
    end_to_end_id VARCHAR(140) NULL,
    creditor_reference VARCHAR(35) NULL,
    mandate_reference VARCHAR(140) NULL,
    reverses BIGINT UNSIGNED NULL,
    original_amount DECIMAL(21,3) NULL,
    original_currency CHAR(3) NULL,
    exchange_rate VARCHAR(21) NULL,
    batch_reference VARCHAR(128) NULL,
    batch_amount DECIMAL(21,3) NULL,
    is_reversal BOOLEAN NOT NULL DEFAULT FALSE
  ) ${TABLE}`,

  // Entries of statements whose movements came before, in another statement or as JSON. date_issue, balance and reference belong to
  // the entry. They may differ from those of the movement, which never changes.
  `CREATE TABLE repeated_entries (
    statement_id BIGINT UNSIGNED NOT NULL,
    transaction_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    import_id BIGINT UNSIGNED NOT NULL,
    position INT UNSIGNED NOT NULL,
    date_issue DATE NOT NULL,
    balance DECIMAL(21,3) NULL,
    reference VARCHAR(128) NULL,
    PRIMARY KEY (statement_id, transaction_id),
    KEY repeated_entries_day (account_id, date_issue),
    CONSTRAINT repeated_entries_movement FOREIGN KEY (transaction_id) REFERENCES transactions (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // The details of a batch that came after the batch itself, in one import. The batch may be withdrawn. position: the entry's number in the file.
  `CREATE TABLE batch_details (
    transaction_id BIGINT UNSIGNED NOT NULL,
    position INT UNSIGNED NOT NULL,
    customer_id BIGINT UNSIGNED NOT NULL,
    import_id BIGINT UNSIGNED NOT NULL,
    dc ENUM('Debit','Credit') NOT NULL,
    amount DECIMAL(21,3) NOT NULL,
    name VARCHAR(255) NULL,
    description TEXT NULL,
    opponent_iban VARCHAR(64) NULL,
    end_to_end_id VARCHAR(140) NULL,
    creditor_reference VARCHAR(35) NULL,
    PRIMARY KEY (transaction_id, position)
  ) ${TABLE}`,

  // Withdrawals of imports, and of single statements. statement_id 0: the whole import. checkpoint: how far the
  // withdrawal has come, as JSON of at most 84 characters; empty: its statements still count.
  `CREATE TABLE withdrawals (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    import_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    statement_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    reason VARCHAR(200) NOT NULL,
    status ENUM('queued','running','done','failed') NOT NULL DEFAULT 'queued',
    checkpoint VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    crash_count TINYINT UNSIGNED NOT NULL DEFAULT 0,
    withdrawn INT UNSIGNED NOT NULL DEFAULT 0,
    kept INT UNSIGNED NOT NULL DEFAULT 0,
    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    finished_at DATETIME(6) NULL,
    UNIQUE KEY withdrawals_subject (import_id, statement_id),
    KEY withdrawals_page (customer_id, id),
    KEY withdrawals_status (status, customer_id, id),
    KEY withdrawals_finished (finished_at)
  ) ${TABLE}`,

  // Movements that were withdrawn, with their columns of transactions. event_id: the id of the event that tells webhooks of it, of the same
  // sequence as the ids of movements. The listing of withdrawn movements has its order.
  `CREATE TABLE withdrawn_transactions (
    event_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    id BIGINT UNSIGNED NOT NULL,
    ${MOVEMENT_COLUMNS},
    withdrawal_id BIGINT UNSIGNED NOT NULL,
    withdrawn_at DATETIME(6) NOT NULL,
    UNIQUE KEY withdrawn_transactions_id (id),
    KEY withdrawn_transactions_customer (customer_id, event_id, date_issue, account_id),
    KEY withdrawn_transactions_account (account_id, event_id, date_issue),
    KEY withdrawn_transactions_movement (customer_id, id),
    KEY withdrawn_transactions_time (customer_id, withdrawn_at, event_id)
  ) ${TABLE}`,

  // Statements that were withdrawn, as they were. Nothing is compared with them any more.
  `CREATE TABLE withdrawn_statements (
    id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    import_id BIGINT UNSIGNED NOT NULL,
    line INT UNSIGNED NOT NULL,
    format VARCHAR(16) NOT NULL,
    kind ENUM('final','interim') NOT NULL,
    number VARCHAR(64) NULL,
    sequence VARCHAR(64) NULL,
    from_date DATE NULL,
    to_date DATE NULL,
    opening_balance DECIMAL(21,3) NULL,
    closing_balance DECIMAL(21,3) NULL,
    opening_balance_date DATE NULL,
    closing_balance_date DATE NULL,
    difference DECIMAL(21,3) NULL,
    credits DECIMAL(21,3) NOT NULL,
    debits DECIMAL(21,3) NOT NULL,
    entries INT UNSIGNED NOT NULL,
    received_at DATETIME(6) NOT NULL,
    withdrawal_id BIGINT UNSIGNED NOT NULL,
    KEY withdrawn_statements_import (import_id, id),
    KEY withdrawn_statements_account (account_id, id),
    KEY withdrawn_statements_withdrawal (withdrawal_id)
  ) ${TABLE}`,

  // The closing balance of an account that was last sent to webhooks with the event BALANCE_UPDATED. import_id: the import that has
  // brought statements since then; NULL: none has.
  `CREATE TABLE told_balances (
    account_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    import_id BIGINT UNSIGNED NULL,
    date DATE NULL,
    balance DECIMAL(21,3) NULL,
    KEY told_balances_import (import_id),
    CONSTRAINT told_balances_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // For accounts with statements: when they are next checked for gaps or a late statement, and the result of the last check.
  `CREATE TABLE statement_checks (
    account_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    due_at DATETIME(6) NULL,
    completeness ENUM('complete','incomplete','contradictory','unknown') NOT NULL DEFAULT 'unknown',
    late_since DATETIME(6) NULL,
    KEY statement_checks_due (due_at),
    KEY statement_checks_result (completeness),
    KEY statement_checks_customer (customer_id, completeness),
    KEY statement_checks_late (late_since),
    CONSTRAINT statement_checks_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE
  ) ${TABLE}`,

  // A segment contains some thousand movements of a customer, in the order of their ids: after the previous segment, up to last_id.
  // It has one row for each account with movements in it, and one row for all accounts, with account_id 0. A row changes only when
  // movements are removed. Then its count falls, but its days stay and may be too many.
  `CREATE TABLE transaction_segments (
    customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    last_id BIGINT UNSIGNED NOT NULL,
    movements INT UNSIGNED NOT NULL,
    first_date_issue DATE NOT NULL,
    last_date_issue DATE NOT NULL,
    PRIMARY KEY (customer_id, account_id, last_id)
  ) ${TABLE}`,

  // The end of a customer's last segment. Separate from import_locks, so that no import waits while segments are made. movements:
  // the number of movements up to last_id, plus the removed ones beyond it. The rest of import_locks.movements is still to be
  // counted.
  `CREATE TABLE segment_checkpoints (
    customer_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    last_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    movements BIGINT UNSIGNED NOT NULL DEFAULT 0
  ) ${TABLE}`,
];
