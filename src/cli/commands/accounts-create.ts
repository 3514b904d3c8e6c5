import { Command } from 'commander';
import { NewAccount } from '../../accounts/input.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { readOptions } from '../values.ts';
import { AccountAnswer, describeAccount } from './accounts-view.ts';

interface Options extends AccessOptions {
  bank: string;
  title: string;
  currency: string;
  iban?: string;
  number?: string;
}

/** `ledgerbell accounts create` */
export const createAccountCommand = (context: CommandContext) =>
  addAccessOptions(
    new Command('create').description('add an account to a customer'),
    'print { "account": { "id", … } }',
  )
    .requiredOption('--bank <name>', "the bank; a new name is added to the customer's banks")
    .requiredOption('--title <title>', 'the title of the account')
    .requiredOption('--currency <code>', 'ISO 4217, such as TRY')
    .option('--iban <iban>', 'with or without spaces')
    .option('--number <number>', 'as the bank writes it, for statements without an IBAN')
    .action(async (options: Options) => {
      const { bank, title, currency, iban, number } = options;
      // Checked before anything is connected to or started.
      const body = readOptions(NewAccount, { bank, title, currency, iban, number });
      const answer = await withAccess(context, options, {}, (api) =>
        api.post('/v1/accounts', body, AccountAnswer),
      );
      context.terminal.answer(options.json, answer, describeAccount(answer.account));
    });
