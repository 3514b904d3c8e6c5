import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addListOptions, type ListOptions, printList } from '../list-output.ts';
import { parseId } from '../values.ts';
import { runColumns, SourceRun } from './sources-view.ts';

/** `ledgerbell sources runs` */
export const listSourceRunsCommand = (context: CommandContext) =>
  addListOptions(new Command('runs').description('show the runs of a source, the newest first'))
    .argument('<id>', 'of the source', parseId)
    .action((id: string, options: ListOptions) =>
      printList(context, options, {
        path: `/v1/sources/${id}/runs`,
        name: 'runs',
        row: SourceRun,
        columns: runColumns(context.readConfig().zone),
        subject: { kind: 'source', id },
      }),
    );
