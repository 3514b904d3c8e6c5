import { Command, Option } from 'commander';
import * as v from 'valibot';
import { SCOPES, type Scope } from '../../customers/caller.ts';
import { KeyView } from '../../customers/key-view.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { addListOptions, confirm, formatTime, type ListOptions, printList } from '../output.ts';
import { parseId, parseIds } from '../values.ts';

interface Options extends AccessOptions {
  title: string;
  account?: string[];
  scope?: Scope[];
}

const KeyAnswer = v.object({ apikey: v.looseObject({ id: v.number(), apikey: v.string() }) });

/** `ledgerbell keys create` */
const createKeyCommand = (context: CommandContext) =>
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

/** `ledgerbell keys list` */
const listKeysCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show API keys, without the keys themselves')).action(
    (options: ListOptions) => {
      const { zone } = context.readConfig();
      return printList(context, options, {
        path: '/v1/apikeys',
        name: 'apikeys',
        row: v.looseObject(KeyView.entries),
        columns: [
          ['id', ({ id }) => id, 'right'],
          ['begins with', ({ prefix }) => prefix],
          ['title', ({ title }) => title],
          ['accounts', ({ account }) => (account === 'all' ? account : account.join(', '))],
          ['scopes', ({ scopes }) => scopes.join(', ')],
          ['last used', ({ last_used_at }) => formatTime(last_used_at, zone)],
        ],
      });
    },
  );

/** `ledgerbell keys delete` */
const deleteKeyCommand = (context: CommandContext) =>
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

/** `ledgerbell keys` */
export const keys = [createKeyCommand, listKeysCommand, deleteKeyCommand];
