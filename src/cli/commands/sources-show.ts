import { Command } from 'commander';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { describeSource, SourceAnswer } from './sources-view.ts';

/** `ledgerbell sources show` */
export const showSourceCommand = (context: CommandContext) =>
  addAccessOptions(new Command('show').description('show a source and how its last run ended'))
    .argument('<id>', 'of the source', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'source', id } }, (api) =>
        api.get(`/v1/sources/${id}`, SourceAnswer),
      );
      const { zone } = context.readConfig();
      context.terminal.answer(options.json, answer, describeSource(answer.source, zone));
    });
