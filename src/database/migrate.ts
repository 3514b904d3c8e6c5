import { DataSource } from 'typeorm';
import type { MysqlDataSourceOptions } from 'typeorm/driver/mysql/MysqlDataSourceOptions.js';

const LOCK = 'ledgerbell.migrations';
const LOCK_TIMEOUT_SECONDS = 60;
const WITHOUT_TIMEOUT = { enableQueryTimeout: false, poolSize: 2 };

/**
 * Runs the migrations that have not run yet, under MySQL's GET_LOCK: of several processes that start at once, one
 * migrates and the others find nothing left to do.
 * @returns the names of those that ran.
 * @throws when the lock is held for more than a minute, or a migration fails.
 */
export async function migrate(database: DataSource): Promise<string[]> {
  // Changing a large table takes as long as it takes.
  const patient = await new DataSource({
    ...(database.options as MysqlDataSourceOptions),
    ...WITHOUT_TIMEOUT,
  }).initialize();
  const runner = patient.createQueryRunner();
  try {
    // GET_LOCK belongs to one connection, so it is taken and given back on the same one.
    const [lock] = await runner.manager.query<{ taken: string | null }[]>('SELECT GET_LOCK(?, ?) AS taken', [
      LOCK,
      LOCK_TIMEOUT_SECONDS,
    ]);
    if (Number(lock?.taken) !== 1) {
      throw new Error(
        `Another process has been migrating the database for over ${LOCK_TIMEOUT_SECONDS} s: wait for it, or end it.`,
      );
    }
    try {
      const migrations = await patient.runMigrations({ transaction: 'none' });
      return migrations.map(({ name }) => name);
    } finally {
      await runner.query('DO RELEASE_LOCK(?)', [LOCK]);
    }
  } finally {
    await runner.release();
    await patient.destroy();
  }
}
