import type { DataSource } from 'typeorm';
import type { Sql } from '../../src/database/transaction.ts';

const COUNTERS = `
  SHOW SESSION STATUS WHERE Variable_name IN
    ('Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd_next', 'Handler_icp_attempts')`;

/** Does `work` in one transaction. @returns what it gives, and how many entries of tables and indexes MySQL looked at for it. */
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
    return { result, read: counters.reduce((sum, { Value }) => sum + Number(Value), 0) };
  } finally {
    await session.release();
  }
}
