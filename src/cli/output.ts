import { type Command, InvalidArgumentError } from 'commander';
import type * as v from 'valibot';
import { formatMoment, type ZoneOffset } from '../platform/moment.ts';
import { formatCount } from '../platform/text.ts';
import { type AccessOptions, addAccessOptions, withAccess } from './command-access.ts';
import type { CommandContext } from './context.ts';
import { Failure } from './failure.ts';
import type { Subject } from './owner.ts';
import { oneLine } from './text.ts';

/** The greatest width of a table, in characters. */
const WIDTH = 100;
const GAP = '  ';
/** The least width to which a column is cut. Ids, dates and statuses are shorter, or not much longer. */
const LEAST_WIDTH = 12;

type Cell = string | number | null;

/**
 * A column: its title, its cell for a row, and how it is shown. `right`: aligned to the right. `whole`: never cut, for a last column
 * that is the purpose of the table. null is shown as `-`.
 */
export type Column<Row> = readonly [title: string, cell: (row: Row) => Cell, show?: 'right' | 'whole'];

/** Renders rows as a table with a line of titles. The widest columns are cut until the table fits into 100 characters. */
export function renderColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, cell]) => showCell(cell(row)))),
  ];
  const widths = narrow(
    columns.map(([title, , show], at) =>
      show === 'whole' ? title.length : Math.max(...lines.map((cells) => cells[at]?.length ?? 0)),
    ),
  );
  const cut = (cell: string, width = 0) => (cell.length > width ? `${cell.slice(0, width - 1)}…` : cell);
  const right = columns.flatMap(([, , show], at) => (show === 'right' ? [at] : []));
  return renderTable(
    lines.map((cells) =>
      cells.map((cell, at) => (columns[at]?.[2] === 'whole' ? cell : cut(cell, widths[at]))),
    ),
    { right },
  ).join('\n');
}

function narrow(natural: readonly number[]): number[] {
  const widths = [...natural];
  const available = WIDTH - GAP.length * (widths.length - 1);
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

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100_000;

export interface ListOptions extends AccessOptions {
  limit: number;
}

/** Adds the options of every command that lists something. */
export const addListOptions = (command: Command) =>
  addAccessOptions(command).option('--limit <number>', 'how many at most', parseLimit, DEFAULT_LIMIT);

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text) || Number(text) > MAX_LIMIT)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_LIMIT}.`);
  return Number(text);
}

/** Prints a list of the API: as a table, or as one document with --json. */
export async function printList<S extends v.GenericSchema>(
  context: CommandContext,
  options: ListOptions,
  {
    path,
    name,
    row,
    columns,
    subject,
  }: {
    path: string;
    /** The name of the member of the API's answer that has the rows. */
    name: string;
    row: S;
    columns: readonly Column<v.InferOutput<S>>[];
    subject?: Subject;
  },
): Promise<void> {
  const { rows, more } = await withAccess(context, options, subject === undefined ? {} : { subject }, (api) =>
    api.list(path, name, row, options.limit),
  );
  printRows(context, options, { name, rows, columns });
  if (more)
    context.terminal.note(`There are more than ${formatCount(options.limit)}: say how many with --limit.`);
}

/** Prints rows as a table, or as one document with --json. */
export function printRows<Row>(
  { terminal }: CommandContext,
  { json }: { json?: boolean },
  { name, rows, columns }: { name: string; rows: readonly Row[]; columns: readonly Column<Row>[] },
): void {
  terminal.answer(json, { [name]: rows }, rows.length === 0 ? 'None.' : renderColumns(columns, rows));
}

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

/**
 * Asks for confirmation before an irreversible action. Does not ask with --yes, or if standard input is not a terminal.
 * @throws {Failure} unless the answer is yes.
 */
export async function confirm(
  { ask }: CommandContext,
  { yes = false }: { yes?: boolean },
  question: string,
): Promise<void> {
  if (yes || ask === undefined) return;
  if (!(await ask(oneLine(question)))) throw new Failure('Nothing was done.');
}
