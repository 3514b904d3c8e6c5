import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/database/data-source.ts';
import type { Sql } from '../../src/database/transaction.ts';

const COUNTERS = `
  SHOW SESSION STATUS WHERE Variable_name IN
    ('Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd_next', 'Handler_icp_attempts')`;

const sumOf = (counters: readonly { Value: string }[]): number =>
  counters.reduce((sum, { Value }) => sum + Number(Value), 0);

/** Runs `work` in one transaction. @returns its result, and how many entries of tables and indexes MySQL read for it. */
export async function watchReads<T>(
  database: DataSource,
  work: (sql: Sql) => Promise<T>,
): Promise<{ result: T; read: number }> {
  const session = database.createQueryRunner();
  try {
    await session.startTransaction();
    await session.query('FLUSH STATUS');
    const result = await work(session);
    const counters: { Value: string }[] = await session.query(COUNTERS);
    await session.commitTransaction();
    return { result, read: sumOf(counters) };
  } finally {
    await session.release();
  }
}

/** Like watchReads, for work that takes connections and begins transactions itself. @param url of the database. */
export async function watchOwnReads<T>(
  url: string | undefined,
  work: (database: DataSource) => Promise<T>,
): Promise<{ result: T; read: number }> {
  // Everything uses the one connection whose counters are read.
  const database = createDataSource(url ?? '', { poolSize: 1 });
  await database.initialize();
  try {
    await database.query('FLUSH STATUS');
    const result = await work(database);
    return { result, read: sumOf(await database.query<{ Value: string }[]>(COUNTERS)) };
  } finally {
    await database.destroy();
  }
}
