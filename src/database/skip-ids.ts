import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { onConnection } from './connection.ts';
import { isRetryableLockError } from './errors.ts';

/**
 * Keeps ids from being given out twice after rows were lost, in a failover to a replica that lacked the newest transactions or in a
 * restore from a backup. Otherwise, new movements would get ids that receivers and clients have seen before, as `webhook-id`s and
 * positions in listings, and would ignore.
 */

/**
 * More ids than a replica can lag behind, and more than are given out between two backups. Even after nine million skips, ids stay
 * below 2^53.
 */
const SKIPPED = 1_000_000_000;

/** Without this, MySQL would show counters that are up to a day old. MariaDB has no such cache, and ignores the comment. */
const READ_CURRENT = 'SET lock_wait_timeout = 2 /*!50799 , information_schema_stats_expiry = 0 */';

/** All tables that give out ids. */
const COUNTERS = `
  SELECT t.table_name AS name, t.auto_increment AS next
  FROM information_schema.tables t JOIN information_schema.columns c
    ON c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.extra LIKE '%auto_increment%'
  WHERE t.table_schema = DATABASE() ORDER BY t.table_name`;

const ADVANCE = (table: string, next: bigint) => `ALTER TABLE \`${table}\` AUTO_INCREMENT = ${next}`;

/** A table with the next id that it gives out. */
interface NextId {
  table: string;
  next: number;
}

/**
 * Skips a billion ids in every table. Replicas do the same. May be repeated, and may run while the service is running.
 * @throws MySQL's error when a table stays locked for a minute.
 */
export function skipIds(database: DataSource): Promise<NextId[]> {
  return onConnection(database, async (sql) => {
    await sql.query(READ_CURRENT);
    const counters = await sql.query<{ name: string; next: string | number | null }[]>(COUNTERS);
    const advanced: NextId[] = [];
    for (const { name: table, next } of counters) {
      const first = BigInt(next ?? 1) + BigInt(SKIPPED);
      await pRetry(() => sql.query(ADVANCE(table, first)), {
        retries: 20,
        minTimeout: 1_000,
        factor: 1,
        shouldRetry: ({ error }) => isRetryableLockError(error),
      });
      advanced.push({ table, next: Number(first) });
    }
    return advanced;
  });
}
