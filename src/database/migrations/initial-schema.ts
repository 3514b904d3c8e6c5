import type { MigrationInterface, QueryRunner } from 'typeorm';
import { CUSTOMER_TABLES, SOURCE_TABLES } from './initial-schema/customer-tables.ts';
import { MOVEMENT_TABLES } from './initial-schema/movement-tables.ts';
import { EVENT_TABLES, OPERATION_TABLES, WEBHOOK_TABLES } from './initial-schema/webhook-tables.ts';

/** Each table comes after the tables that its foreign keys refer to. */
const TABLES = [
  ...CUSTOMER_TABLES,
  ...MOVEMENT_TABLES,
  ...SOURCE_TABLES,
  ...WEBHOOK_TABLES,
  ...OPERATION_TABLES,
  ...EVENT_TABLES,
];

export class InitialSchema1763700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // MySQL commits each statement immediately. After a failure, the migration runs again from its beginning.
    for (const statement of TABLES)
      await runner.query(statement.replace('CREATE TABLE', 'CREATE TABLE IF NOT EXISTS'));
    await runner.query('INSERT IGNORE INTO group_commits (id) VALUES (1)');
  }

  async down(runner: QueryRunner): Promise<void> {
    const names = TABLES.map((statement) => /CREATE TABLE (\w+)/.exec(statement)?.[1]).reverse();
    for (const name of names) await runner.query(`DROP TABLE ${name}`);
  }
}
