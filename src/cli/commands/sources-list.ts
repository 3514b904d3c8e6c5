import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addListOptions, type ListOptions, printList } from '../list-output.ts';
import { Source, sourceColumns } from './sources-view.ts';

/** `ledgerbell sources list` */
export const listSourcesCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show sources, the oldest first')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/sources',
        name: 'sources',
        row: Source,
        columns: sourceColumns(context.readConfig().zone),
      }),
  );
