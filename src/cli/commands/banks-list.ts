import { Command } from 'commander';
import * as v from 'valibot';
import { BankView } from '../../accounts/view.ts';
import type { CommandContext } from '../context.ts';
import { addListOptions, type ListOptions, printList } from '../list-output.ts';

/** `ledgerbell banks list` */
export const listBanksCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show the banks of accounts')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/banks',
        name: 'banks',
        row: v.looseObject(BankView.entries),
        columns: [
          ['id', ({ id }) => id, 'right'],
          ['name', ({ name }) => name],
        ],
      }),
  );
