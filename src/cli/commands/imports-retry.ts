import { Command } from 'commander';
import { formatCount } from '../../counts.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { ImportAnswer } from './imports-view.ts';

/** `ledgerbell imports retry` */
export const retryImportCommand = (context: CommandContext) =>
  addAccessOptions(
    new Command('retry').description('continue a failed import after the rows that are stored'),
  )
    .argument('<id>', 'of the import', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const subject = { kind: 'import', id } as const;
      const answer = await withAccess(context, options, { subject, wakes: true }, (api) =>
        api.post(`/v1/imports/${id}/retry`, {}, ImportAnswer),
      );
      const { inserted, duplicates, rejected } = answer.import;
      const rows = formatCount(inserted + duplicates + rejected);
      context.terminal.answer(
        options.json,
        answer,
        `Import ${id} is queued again. It continues after row ${rows}.`,
      );
    });
