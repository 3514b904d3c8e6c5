import { DataSource } from 'typeorm';
import type { MysqlDataSourceOptions } from 'typeorm/driver/mysql/MysqlDataSourceOptions.js';

import { createDriver } from './data-source.ts';
import { raiseMinimumVersion, requireNoOlderProcess } from './migrations/minimum-version.ts';

/** Runs migrations, and finds those of a newer version. */

const LOCK = 'ledgerbell.migrations';
const LOCK_TIMEOUT_SECONDS = 60;
/** The last table of the initial schema. */
const LAST_TABLE = `
  SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'operational_events'`;
const WITHOUT_TIMEOUT = { enableQueryTimeout: false, poolSize: 2 };

/**
 * Runs the migrations that have not run yet, under MySQL's GET_LOCK. If several processes start at the same time, one migrates and
 * the others find nothing left to do. A migration that failed half-way can be run again.
 * @returns the names of the migrations that ran.
 * @throws when the lock is held for more than a minute, a migration fails, or processes of too old a version are running.
 */
export async function migrate(database: DataSource): Promise<string[]> {
  const { hosts } = database.options.driver as ReturnType<typeof createDriver>;
  // Changing a large table may take longer than any timeout.
  const untimed = await new DataSource({
    ...(database.options as MysqlDataSourceOptions),
    ...WITHOUT_TIMEOUT,
    driver: createDriver(null, hosts),
  }).initialize();
  const runner = untimed.createQueryRunner();
  try {
    // GET_LOCK belongs to a connection, so the lock is taken and released on the same connection.
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
      const hasSchema = (await untimed.query<unknown[]>(LAST_TABLE)).length > 0;
      if (hasSchema) await requireNoOlderProcess(untimed);
      const migrations = await untimed.runMigrations({ transaction: 'none' });
      await raiseMinimumVersion(untimed);
      return migrations.map(({ name }) => name);
    } finally {
      await runner.query('DO RELEASE_LOCK(?)', [LOCK]);
    }
  } finally {
    await runner.release();
    await untimed.destroy();
  }
}

/** The names of migrations that this version does not know, because a newer version has run them. The schema must be up to date. */
export async function findNewerMigrations(database: DataSource): Promise<string[]> {
  const known = new Set(database.migrations.map((it) => it.name ?? it.constructor.name));
  const ran = await database.query<{ name: string }[]>('SELECT name FROM migrations ORDER BY id');
  return ran.map(({ name }) => name).filter((name) => !known.has(name));
}
