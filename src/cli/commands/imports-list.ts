import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addListOptions, type ListOptions, printList } from '../list-output.ts';
import { Import, importColumns } from './imports-view.ts';

/** `ledgerbell imports list` */
export const listImportsCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show imports, the newest first')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/imports',
        name: 'imports',
        row: Import,
        columns: importColumns(context.readConfig().zone),
      }),
  );
