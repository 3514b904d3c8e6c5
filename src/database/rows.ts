/**
 * A derived table whose rows are parameters, so that one UPDATE or INSERT … SELECT serves many rows. MySQL and MariaDB both take it.
 * @param columns their names, in the order in which the values come.
 * @param rows at least 1.
 */
export const derivedRows = (columns: readonly string[], rows: number): string =>
  `SELECT ${columns.map((column) => `? AS ${column}`).join(', ')} ${`UNION ALL SELECT ${columns.map(() => '?').join(', ')} `.repeat(rows - 1)}`;
