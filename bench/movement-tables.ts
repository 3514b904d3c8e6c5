import type { DataSource } from 'typeorm';

/**
 * Empties the tables of movements, so that every round begins in the same state; `growth` measures full tables. Ids continue from
 * where they were, as in production.
 */
export async function emptyTables(database: DataSource): Promise<void> {
  const [newest] = await database.query<{ id: string }[]>('SELECT MAX(id) AS id FROM transactions');
  for (const table of ['attempts', 'retries', 'deliveries', 'transactions']) {
    await database.query(`TRUNCATE TABLE ${table}`);
  }
  await database.query(`ALTER TABLE transactions AUTO_INCREMENT = ${BigInt(newest?.id ?? 0) + 1n}`);
}
