import { Command } from 'commander';
import { AccountChange } from '../../accounts/input.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { parseId, readOptions } from '../values.ts';
import { AccountAnswer, describeAccount } from './accounts-view.ts';

interface Options extends AccessOptions {
  title?: string;
  iban?: string;
  number?: string;
}

/** `ledgerbell accounts change` */
export const changeAccountCommand = (context: CommandContext) =>
  addAccessOptions(
    new Command('change').description('change the title, the IBAN or the number of an account'),
    'print { "account": { "id", … } }',
  )
    .argument('<id>', 'of the account', parseId)
    .option('--title <title>', 'the title of the account')
    .option('--iban <iban>', 'with or without spaces; "": none')
    .option('--number <number>', 'as the bank writes it, for statements without an IBAN; "": none')
    .action(async (id: string, { title, iban, number, ...options }: Options) => {
      const given = {
        ...(title === undefined ? {} : { title }),
        ...(iban === undefined ? {} : { iban: iban || null }),
        ...(number === undefined ? {} : { number: number || null }),
      };
      if (Object.keys(given).length === 0)
        throw new Failure('Say what to change: --title, --iban or --number.');
      // Checked before anything is connected to or started.
      const change = readOptions(AccountChange, given);
      const answer = await withAccess(context, options, { subject: { kind: 'account', id } }, (api) =>
        api.patch(`/v1/accounts/${id}`, change, AccountAnswer),
      );
      const { iban: newIban, number: newNumber } = answer.account;
      const names = [newIban && `IBAN ${newIban}`, newNumber && `number ${newNumber}`].filter(Boolean);
      context.terminal.answer(options.json, answer, [describeAccount(answer.account), ...names].join(', '));
    });
