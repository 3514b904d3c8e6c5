import { Command, Option } from 'commander';
import * as v from 'valibot';
import { SCOPES, type Scope } from '../../http/scopes.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseIds } from '../values.ts';

interface Options extends AccessOptions {
  title: string;
  account?: string[];
  scope?: Scope[];
}

const KeyAnswer = v.object({ apikey: v.looseObject({ id: v.number(), apikey: v.string() }) });

/** `ledgerbell keys create` */
export const createKeyCommand = (context: CommandContext) =>
  addAccessOptions(
    new Command('create').description('create another API key for a customer'),
    'print { "apikey": { "id", "apikey" } }',
  )
    .option('--title <title>', 'what the key is for', 'Created on the command line')
    .option(
      '--account <id>',
      'limit the key to this account; can be repeated (default: all accounts)',
      parseIds,
    )
    .addOption(new Option('--scope <scope...>', 'what it may do (default: everything)').choices([...SCOPES]))
    .action(async (options: Options) => {
      const { title, account = 'all', scope } = options;
      const answer = await withAccess(context, options, {}, (api) =>
        api.post('/v1/apikeys', { title, account, scopes: scope }, KeyAnswer),
      );
      const { id, apikey } = answer.apikey;
      context.terminal.answer(options.json, answer, `API key ${id} (shown only now)\n  ${apikey}`);
    });
