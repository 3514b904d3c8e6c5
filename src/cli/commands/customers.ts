import { resolve } from 'node:path';
import { Command } from 'commander';
import * as v from 'valibot';
import { byOperator, recordChange } from '../../customers/audit.ts';
import { createCustomer, listCustomers } from '../../customers/customers.ts';
import { formatMoment } from '../../platform/moment.ts';
import { confirm } from '../api-command.ts';
import type { CommandContext } from '../context.ts';
import { type Installation, withInstallation } from '../open-service.ts';
import { renderTable } from '../output.ts';
import { currentOperator, requireCustomer } from '../owner.ts';
import { parseId, readOptions } from '../values.ts';

/** The commands for customers. */

const Options = v.object({
  name: v.pipe(
    v.string(),
    v.trim(),
    v.minLength(1, 'must not be blank'),
    v.maxLength(200, 'must be at most 200 characters long'),
  ),
});

/** `ledgerbell customers create` */
const createCustomerCommand = (context: CommandContext) =>
  new Command('create')
    .description('create a customer with a first API key')
    .requiredOption('--name <name>', 'the name of the customer')
    .option('--json', 'print { "customer", "api_key", "api_secret" }')
    .action(async (options: { name: string; json?: boolean }) => {
      const { name } = readOptions(Options, options);
      const create = async (installation: Installation) => {
        const made = await createCustomer(installation, name, currentOperator());
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

/** `ledgerbell customers list` */
const listCustomersCommand = (context: CommandContext) =>
  new Command('list')
    .description('show all customers, the oldest first')
    .option('--json', 'print { "customers": [{ "id", "name", "created_at" }] }')
    .action(({ json }: { json?: boolean }) =>
      withInstallation(context, async ({ database }) => {
        const { zone, databaseUrl, dataDir } = context.readConfig();
        // Several installations may be on this machine, such as that of the demo.
        if (json !== true)
          context.terminal.note(
            databaseUrl === undefined
              ? `The installation in ${resolve(dataDir)}:`
              : `The installation on ${new URL(databaseUrl).host}:`,
          );
        const customers = (await listCustomers(database)).map(({ id, name, created_at }) => ({
          id: Number(id),
          name,
          created_at: formatMoment(created_at, zone),
        }));
        const rows = customers.map(({ id, name, created_at }) => [String(id), name, created_at]);
        const text =
          rows.length === 0
            ? 'There are no customers yet. Make one with: ledgerbell customers create --name NAME'
            : renderTable([['id', 'name', 'since'], ...rows]).join('\n');
        context.terminal.answer(json, { customers }, text);
      }),
    );

/** `ledgerbell customers delete` */
const deleteCustomerCommand = (context: CommandContext) =>
  new Command('delete')
    .description('delete a customer with everything that belongs to it')
    .argument('<id>', 'of the customer', parseId)
    .option('--yes', 'do not ask')
    .option('--json', 'print { "customer": { "id", "status" } }')
    .action(async (id: string, options: { yes?: boolean; json?: boolean }) =>
      withInstallation(context, async (installation) => {
        await requireCustomer(installation.database, id);
        const question = `Delete customer ${id} with its API keys, accounts, movements, webhooks and imports?`;
        await confirm(context, options, question);
        const { requestCustomerDeletion } = await import('../../upkeep/request-deletion.ts');
        const running = await requestCustomerDeletion(installation.database, id, (sql) =>
          recordChange(sql, byOperator(currentOperator(), id), {
            action: 'delete',
            subject: `customer ${id}`,
          }),
        );
        const { endRuns } = await import('../service-redis.ts');
        await endRuns(installation, running, context.terminal.note);
        const lines = [
          `Customer ${id} is being deleted. Its API keys do not work any more, and nothing of it is stored or sent.`,
          `See how far it is with: ledgerbell status`,
        ];
        const answer = { customer: { id: Number(id), status: 'deleting' } };
        context.terminal.answer(options.json, answer, lines.join('\n'));
      }),
    );

/** `ledgerbell customers` */
export const customers = [createCustomerCommand, listCustomersCommand, deleteCustomerCommand];
