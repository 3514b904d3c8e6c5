import { type Command, InvalidArgumentError } from 'commander';
import type * as v from 'valibot';
import { formatCount } from '../counts.ts';
import { type AccessOptions, addAccessOptions, withAccess } from './command-access.ts';
import type { CommandContext } from './context.ts';
import type { Subject } from './owner.ts';
import { type Column, renderColumns } from './table-output.ts';

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
    /** Of the member of the API's answer that has the rows. */
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
