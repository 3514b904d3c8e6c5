import { Command } from 'commander';
import * as v from 'valibot';
import { AccountView } from '../../accounts/view.ts';
import type { CommandContext } from '../context.ts';
import { addListOptions, type ListOptions, printList } from '../list-output.ts';

/** `ledgerbell accounts list` */
export const listAccountsCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show accounts, the oldest first')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/accounts',
        name: 'accounts',
        row: v.looseObject(AccountView.entries),
        columns: [
          ['id', ({ id }) => id, 'right'],
          ['bank', ({ bank }) => bank.name],
          ['title', ({ title }) => title],
          ['iban', ({ iban }) => iban],
          ['balance', ({ balance }) => balance, 'right'],
          ['currency', ({ currency }) => currency],
          ['status', ({ status }) => status],
        ],
      }),
  );
