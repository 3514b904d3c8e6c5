import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/database/data-source.ts';
import type { Sql } from '../../src/database/transaction.ts';

const COUNTERS = `
  SHOW SESSION STATUS WHERE Variable_name IN
    ('Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd_next', 'Handler_icp_attempts')`;

const sumOf = (counters: readonly { Value: string }[]): number =>
  counters.reduce((sum, { Value }) => sum + Number(Value), 0);

/**
 * Begins to count what a session reads. Resets nothing: MySQL's FLUSH STATUS would reset the counters of all sessions, also those of other tests.
 * @returns a function that reads the count.
 */
async function beginCount(session: Sql): Promise<() => Promise<number>> {
  const count = async () => sumOf(await session.query<{ Value: string }[]>(COUNTERS));
  const first = await count();
  const second = await count();
  // Reading the counters reads entries, too.
  const ofCounting = second - first;
  return async () => (await count()) - second - ofCounting;
}

/** Runs `work` in one transaction. @returns its result, and how many entries of tables and indexes MySQL read for it. */
export async function watchReads<T>(
  database: DataSource,
  work: (sql: Sql) => Promise<T>,
): Promise<{ result: T; read: number }> {
  const session = database.createQueryRunner();
  try {
    await session.startTransaction();
    const readCount = await beginCount(session);
    const result = await work(session);
    const read = await readCount();
    await session.commitTransaction();
    return { result, read };
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
    const readCount = await beginCount(database);
    const result = await work(database);
    return { result, read: await readCount() };
  } finally {
    await database.destroy();
  }
}
