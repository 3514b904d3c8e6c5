import { Command } from 'commander';
import * as v from 'valibot';
import { KeyView } from '../../customers/list-keys.ts';
import type { CommandContext } from '../context.ts';
import { addListOptions, type ListOptions, printList } from '../list-output.ts';
import { formatTime } from '../table-output.ts';

/** `ledgerbell keys list` */
export const listKeysCommand = (context: CommandContext) =>
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
