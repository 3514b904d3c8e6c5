import { Command } from 'commander';
import * as v from 'valibot';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import { confirm } from '../confirm.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { SourceAnswer } from './sources-view.ts';

/** `ledgerbell sources delete` */
export const deleteSourceCommand = (context: CommandContext) =>
  addAccessOptions(new Command('delete').description('delete a source; its imports and movements stay'))
    .argument('<id>', 'of the source', parseId)
    .option('--yes', 'do not ask')
    .action(async (id: string, options: AccessOptions & { yes?: boolean }) => {
      const subject = { kind: 'source', id } as const;
      const path = `/v1/sources/${id}`;
      const answer = await withAccess(context, options, { subject, wakes: true }, async (api) => {
        const { source } = await api.get(path, SourceAnswer);
        await confirm(context, options, `Delete source ${id}, ${source.title}, with its credentials?`);
        return api.delete(path, v.looseObject({ status: v.string() }));
      });
      context.terminal.answer(options.json, answer, `Source ${id} is deleted.`);
    });
