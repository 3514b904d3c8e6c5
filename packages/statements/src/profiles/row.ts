import { squeeze } from '../shared/text.ts';

/** A number as an XLSX file stores it: with a point, and perhaps with an exponent. Dates are stored as such numbers too. */
interface NumberCell {
  number: string;
  /** The year from which the workbook counts days. */
  epoch: 1900 | 1904;
}

/** The day with the number 0 of a workbook, as a time (ECMA-376, part 1, section 18.17.4.1). @param epoch the year from which it counts days. */
export const dayZero = (epoch: NumberCell['epoch']): number =>
  epoch === 1900 ? Date.UTC(1899, 11, 30) : Date.UTC(1904, 0, 1);

/** CSV files have only texts. An empty cell is ''. */
export type Cell = string | NumberCell;

/** One row of a table that is not blank. `line` counts lines of a CSV file, or rows of a sheet, from 1. */
export type Row = { line: number; cells: readonly Cell[] } | { line: number; issue: string };

/**
 * The cell of a column; undefined for -1, which means that the table does not have the column. `row[-1]` would be a slow property
 * lookup.
 */
export const cellAt = (row: readonly Cell[], column: number): Cell | undefined =>
  column < 0 ? undefined : row[column];

/** The cell as text, without spaces around it and with one space for each run of whitespace. */
export function textOf(cell: Cell | undefined): string {
  if (cell === undefined) return '';
  return typeof cell === 'string' ? squeeze(cell) : plainNumber(cell.number);
}

/** The text that was found, for a message. It is cut, because a cell may contain a whole file. */
export function quote(cell: Cell | undefined): string {
  const text = textOf(cell);
  return `"${text.length > 40 ? `${text.slice(0, 40)}…` : text}"`;
}

/** A reference or an account number can be stored as a number: 1.2E11 is 120000000000. */
function plainNumber(number: string): string {
  const value = Number(number);
  return Number.isSafeInteger(value) ? value.toString() : number;
}
