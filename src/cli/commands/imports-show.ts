import { Command } from 'commander';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { describeImport, ImportAnswer } from './imports-view.ts';

/** `ledgerbell imports show` */
export const showImportCommand = (context: CommandContext) =>
  addAccessOptions(new Command('show').description('show how far an import is'))
    .argument('<id>', 'of the import', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'import', id } }, (api) =>
        api.get(`/v1/imports/${id}`, ImportAnswer),
      );
      const text = describeImport(answer.import, context.readConfig().zone);
      context.terminal.answer(options.json, answer, text);
    });
