import type { DataSource } from 'typeorm';
import { onConnection } from '../src/database/connection.ts';

const TABLES = [
  'attempts',
  'retries',
  'deliveries',
  'movement_conflicts',
  'transaction_details',
  'statements',
  'transactions',
];

/**
 * Empties the tables of movements, so that every round begins in the same state; `growth` measures full tables. Ids continue from
 * where they were, as in production.
 */
export async function emptyTables(database: DataSource): Promise<void> {
  const [newest] = await database.query<{ id: string }[]>('SELECT MAX(id) AS id FROM transactions');
  await onConnection(database, async (sql) => {
    // A table that a foreign key refers to is not truncated otherwise.
    await sql.query('SET foreign_key_checks = 0');
    for (const table of TABLES) await sql.query(`TRUNCATE TABLE ${table}`);
    await sql.query('SET foreign_key_checks = 1');
  });
  await database.query(`ALTER TABLE transactions AUTO_INCREMENT = ${BigInt(newest?.id ?? 0) + 1n}`);
}
