import { formatMoment, type ZoneOffset } from '../platform/moment.ts';
import { oneLine } from './context.ts';

/** Writes tables and facts for the terminal. */

/** The greatest width of a table on a terminal, in characters. */
const WIDTH = 100;
const GAP = '  ';
/** The least width to which a column is cut. Ids, dates and statuses are shorter, or not much longer. */
const LEAST_WIDTH = 12;

type Cell = string | number | null;

/**
 * A column: its title, its cell for a row, and how it is shown. `right`: aligned to the right. `whole`: not cut on a terminal either, for a
 * last column that is the purpose of the table. null is shown as `-`.
 */
export type Column<Row> = readonly [title: string, cell: (row: Row) => Cell, show?: 'right' | 'whole'];

/** A pipe and a file get whole tables, because a program reads them. */
const widthOfOutput = (): number => (process.stdout.isTTY ? WIDTH : Number.POSITIVE_INFINITY);

/**
 * Renders rows as a table with a line of titles. On a terminal, the widest columns are cut until the table fits into 100 characters.
 * @param width the greatest width of the table.
 */
export function renderColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width = widthOfOutput(),
): string {
  const lines = [
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, cell]) => showCell(cell(row)))),
  ];
  const widths = narrow(
    columns.map(([title, , show], at) =>
      show === 'whole'
        ? title.length
        : lines.reduce((most, cells) => Math.max(most, cells[at]?.length ?? 0), 0),
    ),
    width,
  );
  const cut = (cell: string, most = 0) => (cell.length > most ? `${cell.slice(0, most - 1)}…` : cell);
  const right = columns.flatMap(([, , show], at) => (show === 'right' ? [at] : []));
  return renderTable(
    lines.map((cells) =>
      cells.map((cell, at) => (columns[at]?.[2] === 'whole' ? cell : cut(cell, widths[at]))),
    ),
    { right },
  ).join('\n');
}

function narrow(natural: readonly number[], most: number): number[] {
  const widths = [...natural];
  const available = most - GAP.length * (widths.length - 1);
  while (widths.reduce((sum, width) => sum + width, 0) > available) {
    const widest = Math.max(...widths);
    if (widest <= LEAST_WIDTH) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return widths;
}

/** Renders facts about one object, a line for each fact. */
export function renderFacts(facts: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}${GAP}${showCell(value)}`).join('\n');
}

const showCell = (cell: Cell): string => {
  if (cell === null) return '-';
  const text = oneLine(String(cell));
  return text === '' ? '-' : text;
};

/** Formats a moment of the API for a person: `2026-11-22 09:54:30+03`. */
export const formatTime = (timestamp: string | null, zone: ZoneOffset): string | null =>
  timestamp === null ? null : formatMoment(new Date(timestamp), zone);

/** Pads columns to their widest cell, two spaces apart. `right` has the indexes of columns that are aligned to the right. */
export function renderTable(
  rows: readonly (readonly string[])[],
  { right = [] }: { right?: readonly number[] } = {},
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
