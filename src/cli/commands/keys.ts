import { Command, Option } from 'commander';
import * as v from 'valibot';
import { SCOPES, type Scope } from '../../customers/caller.ts';
import { KeyView } from '../../customers/key-view.ts';
import { type CreateCommand, Deleted, listCommand, printAnswer, subjectCommand } from '../api-command.ts';
import { type AccessOptions, addAccessOptions } from '../command-access.ts';
import { formatTime } from '../output.ts';
import { parseIds } from '../values.ts';

interface Options extends AccessOptions {
  title: string;
  account?: string[];
  scope?: Scope[];
}

const KeyAnswer = v.object({ apikey: v.looseObject({ id: v.number(), apikey: v.string() }) });

/** `ledgerbell keys` */
export const keys: readonly CreateCommand[] = [
  (context) =>
    addAccessOptions(
      new Command('create').description('create another API key for a customer'),
      'print { "apikey": { "id", "apikey" } }',
    )
      .option('--title <title>', 'what the key is for', 'Created on the command line')
      .option(
        '--account <ids>',
        'limit the key to these accounts: ids with commas between them; may be repeated (default: all)',
        parseIds,
      )
      .addOption(
        new Option('--scope <scope...>', 'what it may do (default: everything)').choices([...SCOPES]),
      )
      .action(async (options: Options) => {
        const { title, account = 'all', scope } = options;
        await printAnswer(
          context,
          options,
          {},
          {
            request: (api) => api.post('/v1/apikeys', { title, account, scopes: scope }, KeyAnswer),
            text: ({ apikey: { id, apikey } }) => `API key ${id} (shown only now)\n  ${apikey}`,
          },
        );
      }),
  listCommand({
    description: 'show API keys, without the keys themselves',
    path: '/v1/apikeys',
    name: 'apikeys',
    row: v.looseObject(KeyView.entries),
    columns: (zone) => [
      ['id', ({ id }) => id, 'right'],
      ['begins with', ({ prefix }) => prefix],
      ['title', ({ title }) => title],
      ['accounts', ({ account }) => (account === 'all' ? account : account.join(', '))],
      ['scopes', ({ scopes }) => scopes.join(', ')],
      ['last used', ({ last_used_at }) => formatTime(last_used_at, zone)],
    ],
  }),
  subjectCommand('api_key', {
    name: 'delete',
    description: 'delete an API key; requests with it get 401',
    question: (_, id) => `Delete API key ${id}?`,
    request: (api, id) => api.delete(`/v1/apikeys/${id}`, Deleted),
    text: (_, id) => `API key ${id} is deleted.`,
  }),
];
