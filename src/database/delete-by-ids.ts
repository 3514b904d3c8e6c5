import type { Sql } from './transaction.ts';

/**
 * Ids per statement. MySQL looks up each id in the index if there are fewer than 200 (eq_range_index_dive_limit). With more, it relies on
 * its statistics. If the statistics are old, it may read the whole table.
 */
const IDS = 100;

/**
 * Deletes rows by their ids.
 * @param statement a DELETE whose last condition is `IN (?)`.
 * @param values of the other conditions.
 */
export async function deleteByIds(
  sql: Sql,
  statement: string,
  values: readonly unknown[],
  ids: readonly string[],
): Promise<void> {
  for (let start = 0; start < ids.length; start += IDS) {
    await sql.query(statement, [...values, ids.slice(start, start + IDS)]);
  }
}
