import { Command } from 'commander';
import * as v from 'valibot';
import { createCustomer } from '../../customers/customers.ts';
import type { CommandContext } from '../context.ts';
import { type Installation, withInstallation } from '../open-service.ts';
import { operatorName } from '../operator-name.ts';
import { readOptions } from '../values.ts';

const Options = v.object({
  name: v.pipe(
    v.string(),
    v.trim(),
    v.minLength(1, 'must not be blank'),
    v.maxLength(200, 'must be at most 200 characters long'),
  ),
});

/** `ledgerbell customers create` */
export const createCustomerCommand = (context: CommandContext) =>
  new Command('create')
    .description('create a customer with a first API key')
    .requiredOption('--name <name>', 'the name of the customer')
    .option('--json', 'print { "customer", "api_key", "api_secret" }')
    .action(async (options: { name: string; json?: boolean }) => {
      const { name } = readOptions(Options, options);
      const create = async (installation: Installation) => {
        const made = await createCustomer(installation, name, {
          source: 'command line',
          name: operatorName(),
        });
        const lines = [
          `Customer ${made.customer.id}, ${made.customer.name}`,
          `  API key     ${made.api_key}  (shown only now; sent in the header Authentication)`,
          `  API secret  ${made.api_secret}  (for the hash in every notification)`,
        ];
        const customer = { ...made.customer, id: Number(made.customer.id) };
        context.terminal.answer(options.json, { ...made, customer }, lines.join('\n'));
      };
      await withInstallation(context, create, { mayBegin: true });
    });
