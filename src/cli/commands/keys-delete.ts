import { Command } from 'commander';
import * as v from 'valibot';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import { confirm } from '../confirm.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';

/** `ledgerbell keys delete` */
export const deleteKeyCommand = (context: CommandContext) =>
  addAccessOptions(new Command('delete').description('delete an API key; requests with it get 401'))
    .argument('<id>', 'of the API key', parseId)
    .option('--yes', 'do not ask')
    .action(async (id: string, options: AccessOptions & { yes?: boolean }) => {
      const answer = await withAccess(context, options, { subject: { kind: 'API key', id } }, async (api) => {
        await confirm(context, options, `Delete API key ${id}?`);
        return api.delete(`/v1/apikeys/${id}`, v.looseObject({ status: v.string() }));
      });
      context.terminal.answer(options.json, answer, `API key ${id} is deleted.`);
    });
