/**
 * A derived table whose rows are parameters, so that one UPDATE or INSERT … SELECT changes many rows. Works in MySQL and MariaDB.
 * @param columns the names of the columns, in the order of the values.
 * @param rows the number of rows, at least 1.
 */
export const derivedRows = (columns: readonly string[], rows: number): string =>
  `SELECT ${columns.map((column) => `? AS ${column}`).join(', ')} ${`UNION ALL SELECT ${columns.map(() => '?').join(', ')} `.repeat(rows - 1)}`;
