import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';

const UP = [
  // Some thousand movements of a customer, in the order of their ids: up to last_id, from behind the segment before. A row for
  // each account that has movements there, and one for all of them, whose account_id is 0. Nothing is ever changed in it.
  `CREATE TABLE transaction_segments (
    customer_id BIGINT UNSIGNED NOT NULL,
    account_id BIGINT UNSIGNED NOT NULL,
    last_id BIGINT UNSIGNED NOT NULL,
    movements INT UNSIGNED NOT NULL,
    first_date_issue DATE NOT NULL,
    last_date_issue DATE NOT NULL,
    PRIMARY KEY (customer_id, account_id, last_id)
  ) ${TABLE}`,

  // How far a customer's movements lie in segments. Apart from import_locks, so that no import waits for who makes them.
  `CREATE TABLE segment_bookmarks (
    customer_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    last_id BIGINT UNSIGNED NOT NULL DEFAULT 0,
    movements BIGINT UNSIGNED NOT NULL DEFAULT 0
  ) ${TABLE}`,

  'ALTER TABLE import_locks ADD COLUMN movements BIGINT UNSIGNED NOT NULL DEFAULT 0',

  // An import may hold its customer's row for longer than the second for which statements wait.
  'SET innodb_lock_wait_timeout = 600',
  `UPDATE import_locks l SET movements = (
    SELECT COUNT(*) FROM transactions t FORCE INDEX (transactions_customer_page) WHERE t.customer_id = l.customer_id)`,
];

const DOWN = [
  'ALTER TABLE import_locks DROP COLUMN movements',
  'DROP TABLE segment_bookmarks',
  'DROP TABLE transaction_segments',
];

/** Counts of movements, by which a listing skips what lies before a page that is far away. */
export class TransactionSegments1763800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
