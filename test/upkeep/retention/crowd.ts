import type { Sql } from '../../../src/database/transaction.ts';

/** Customers besides those of a test, so that the optimizer has a choice between an index and a whole table. */
const CUSTOMERS = 400;

/** The number of rows of each. */
const EACH = 5;

const NUMBERS = `(WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < ${CUSTOMERS}) SELECT n FROM s) c`;
const TIMES = `(${Array.from({ length: EACH }, (_, at) => `SELECT ${at} AS i`).join(' UNION ALL ')}) e`;

/** Their ids begin here. */
const FIRST = 1_000_000;
const CUSTOMER = `${FIRST} + c.n`;
const ID = `${FIRST} + c.n * ${EACH} + e.i`;

/** Nothing of it is old in May 2026. */
const YOUNG = "'2026-05-15 09:00:00'";

const INSERTS = [
  `customers (id, name, api_secret) SELECT ${CUSTOMER}, 'Müşteri', '-' FROM ${NUMBERS}`,
  `import_locks (customer_id) SELECT ${CUSTOMER} FROM ${NUMBERS}`,
  `segment_checkpoints (customer_id) SELECT ${CUSTOMER} FROM ${NUMBERS}`,
  `banks (id, customer_id, name) SELECT ${CUSTOMER}, ${CUSTOMER}, 'Banka' FROM ${NUMBERS}`,
  `accounts (id, customer_id, bank_id, title, currency) SELECT ${ID}, ${CUSTOMER}, ${CUSTOMER}, 'Hesap', 'TRY' FROM ${NUMBERS}, ${TIMES}`,
  `api_keys (id, customer_id, title, prefix, key_hash, all_accounts, scopes)
   SELECT ${ID}, ${CUSTOMER}, 'Anahtar', 'p', UNHEX(SHA2(${ID}, 256)), 0, 'all' FROM ${NUMBERS}, ${TIMES}`,
  `api_key_accounts (api_key_id, account_id) SELECT ${ID}, ${ID} FROM ${NUMBERS}, ${TIMES}`,
  `webhooks (id, customer_id, title, endpoint, event, account_id, secret, encoding, hash_encoding, max_in_flight)
   SELECT ${ID}, ${CUSTOMER}, 'Webhook', 'http://127.0.0.1:9/', 'NEW_TRANSACTION', ${ID}, '-', 'json', 'hex', 1 FROM ${NUMBERS}, ${TIMES}`,
  `webhook_filters (webhook_id, from_id, customer_id, event, account_id)
   SELECT ${ID}, 0, ${CUSTOMER}, 'NEW_TRANSACTION', ${ID} FROM ${NUMBERS}, ${TIMES}`,
  `webhook_backlogs (webhook_id, customer_id, matched_through)
   SELECT ${ID}, ${CUSTOMER}, 0 FROM ${NUMBERS}, ${TIMES}`,
  `webhook_cursors (webhook_id, customer_id, sent_through, highest_recorded_id) SELECT ${ID}, ${CUSTOMER}, 0, 0 FROM ${NUMBERS}, ${TIMES}`,
  `replays (webhook_id, customer_id, position, until_id, statuses, finished_at) SELECT ${ID}, ${CUSTOMER}, 0, 0, 'failed', ${YOUNG} FROM ${NUMBERS}, ${TIMES}`,
  `transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
   SELECT ${CUSTOMER}, ${ID}, 1, 'm', 'Credit', '1.00', DATE(${YOUNG}), ${YOUNG} FROM ${NUMBERS}, ${TIMES}`,
  `deliveries (webhook_id, transaction_id, customer_id, status, attempts, outcome, started_at, duration_ms)
   SELECT account_id, id, customer_id, 'delivered', 2, 'delivered', date_readed, 1 FROM transactions WHERE customer_id > ${FIRST}`,
  `attempts (webhook_id, transaction_id, number, customer_id, outcome, started_at, duration_ms)
   SELECT account_id, id, 1, customer_id, 'failed', date_readed, 1 FROM transactions WHERE customer_id > ${FIRST}`,
  `retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
   SELECT account_id, id, customer_id, NULL, 1, 1 FROM transactions WHERE customer_id > ${FIRST}`,
  `transaction_details (transaction_id, customer_id, line, position)
   SELECT id, customer_id, 1, 1 FROM transactions WHERE customer_id > ${FIRST}`,
  `batch_details (transaction_id, position, customer_id, import_id, dc, amount)
   SELECT id, 1, customer_id, 1, dc, amount FROM transactions WHERE customer_id > ${FIRST}`,
  `movement_conflicts (customer_id, account_id, transaction_id, dc, amount, date_issue, received, import_id, line)
   SELECT customer_id, account_id, id, 'Debit', amount, date_issue, '{}', 1, 1 FROM transactions WHERE customer_id > ${FIRST}`,
  `withdrawn_transactions (event_id, id, customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed, withdrawal_id,
     withdrawn_at)
   SELECT id + 10000000, id + 20000000, customer_id, account_id, 1, unique_id, dc, amount, date_issue, date_readed, id, date_readed
   FROM transactions WHERE customer_id > ${FIRST}`,
  `withdrawals (id, customer_id, import_id, reason, status, finished_at) SELECT ${ID}, ${CUSTOMER}, ${ID}, '-', 'done', ${YOUNG} FROM ${NUMBERS}, ${TIMES}`,
  `withdrawn_statements (id, customer_id, account_id, import_id, line, format, kind, credits, debits, entries, received_at, withdrawal_id)
   SELECT ${ID}, ${CUSTOMER}, ${ID}, 1, 1, 'mt940', 'final', 0, 0, 0, ${YOUNG}, ${ID} FROM ${NUMBERS}, ${TIMES}`,
  `transaction_segments (customer_id, account_id, last_id, movements, first_date_issue, last_date_issue)
   SELECT customer_id, account_id, id, 1, date_issue, date_issue FROM transactions WHERE customer_id > ${FIRST}`,
  `imports (id, customer_id, api_key_id, format, status, received_at, finished_at)
   SELECT ${ID}, ${CUSTOMER}, ${ID}, 'json', 'done', ${YOUNG}, ${YOUNG} FROM ${NUMBERS}, ${TIMES}`,
  `import_errors (import_id, severity, line, path, message) SELECT ${ID}, 'error', 1, '', '' FROM ${NUMBERS}, ${TIMES}`,
  `import_parts (import_id, seq, bytes) SELECT ${ID}, 0, '' FROM ${NUMBERS}, ${TIMES}`,
  `sources (id, customer_id, title, kind, settings, schedule, account_id, format, create_accounts)
   SELECT ${ID}, ${CUSTOMER}, 'Klasör', 'folder', '{}', '{}', ${ID}, 'auto', 0 FROM ${NUMBERS}, ${TIMES}`,
  `source_accounts (source_id, account_id) SELECT ${ID}, ${ID} FROM ${NUMBERS}, ${TIMES}`,
  `source_runs (id, source_id, customer_id) SELECT ${ID}, ${ID}, ${CUSTOMER} FROM ${NUMBERS}, ${TIMES}`,
  `source_files (source_id, customer_id, run_id, fingerprint, name, version, import_id)
   SELECT ${ID}, ${CUSTOMER}, ${ID}, UNHEX(SHA2(${ID}, 256)), 'a', '1', ${ID} FROM ${NUMBERS}, ${TIMES}`,
  `idempotency_keys (customer_id, idempotency_key, request_hash) SELECT ${CUSTOMER}, ${ID}, UNHEX(SHA2(${ID}, 256)) FROM ${NUMBERS}, ${TIMES}`,
];

/** Adds 400 customers, each with a few rows in every table, and updates the statistics. */
export async function addCrowd(sql: Sql): Promise<void> {
  for (const insert of INSERTS) await sql.query(`INSERT INTO ${insert}`);
  const tables = new Set(INSERTS.map((insert) => insert.replace(/ .*/s, '')));
  await sql.query(`ANALYZE TABLE ${[...tables].join(', ')}`);
}
