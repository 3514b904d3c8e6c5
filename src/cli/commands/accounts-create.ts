import { Command } from 'commander';
import { createAccount } from '../../accounts/add-account.ts';
import { NewAccount } from '../../accounts/input.ts';
import { viewAccount } from '../../accounts/view.ts';
import type { CommandContext } from '../context.ts';
import { requireCustomer } from '../customer.ts';
import { withInstallation } from '../open-service.ts';
import { parseId, readOptions } from '../values.ts';

interface Options {
  customer: string;
  bank: string;
  title: string;
  currency: string;
  iban?: string;
  json?: boolean;
}

/** `ledgerbell accounts create` */
export const createAccountCommand = (context: CommandContext) =>
  new Command('create')
    .description('add an account to a customer')
    .requiredOption('--customer <id>', 'the customer', parseId)
    .requiredOption('--bank <name>', "the bank; a new name is added to the customer's banks")
    .requiredOption('--title <title>', 'the title of the account')
    .requiredOption('--currency <code>', 'ISO 4217, such as TRY')
    .option('--iban <iban>', 'with or without spaces')
    .option('--json', 'print { "account": { "id", … } }')
    .action(async ({ customer: customerId, json, ...given }: Options) => {
      const { title, currency, iban } = readOptions(NewAccount, given);
      await withInstallation(context, async ({ database }) => {
        await requireCustomer(database, customerId);
        const bank = { name: given.bank.trim() };
        const created = await createAccount(database, { customerId, bank, title, currency, iban });
        if (created === null) throw new Error('the bank vanished while the account was made');
        const account = viewAccount(created, context.readConfig().zone);
        const text = `Account ${account.id} of customer ${customerId}: ${title} at ${account.bank.name}, ${currency}`;
        context.terminal.answer(json, { account }, text);
      });
    });
