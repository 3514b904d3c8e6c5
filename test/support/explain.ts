import type { Sql } from '../../src/database/transaction.ts';

/** How a statement is explained as a table. MySQL 9 explains as a tree by default. MariaDB knows tables only, and no name for them. */
export async function findExplain(sql: Sql): Promise<string> {
  const [hasFormats] = await sql.query<object[]>("SHOW VARIABLES LIKE 'explain_format'");
  return hasFormats === undefined ? 'EXPLAIN' : 'EXPLAIN FORMAT=TRADITIONAL';
}
