import { resolve } from 'node:path';
import { Command } from 'commander';
import * as v from 'valibot';
import { CustomerView } from '../../customers/customer-view.ts';
import { Title } from '../../platform/validation.ts';
import { confirm } from '../api-command.ts';
import { withOperator } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { createOperatorApi, findOperatorAccess } from '../operator-client.ts';
import { formatTime, renderTable } from '../output.ts';
import { parseId, parseMetadata, readOptions } from '../values.ts';

/** The commands for customers. */

const Customer = v.looseObject(CustomerView.entries);
const CustomerAnswer = v.looseObject({ customer: Customer });

const CreatedAnswer = v.variant('created', [
  v.looseObject({
    customer: Customer,
    created: v.literal(true),
    api_key: v.string(),
    api_secret: v.string(),
  }),
  v.looseObject({ customer: Customer, created: v.literal(false) }),
]);

interface CreateOptions {
  name: string;
  externalId?: string;
  metadata?: Record<string, string>;
  json?: boolean;
}

/** `ledgerbell customers create` */
const createCustomerCommand = (context: CommandContext) =>
  new Command('create')
    .description('create a customer with a first API key')
    .requiredOption('--name <name>', 'the name of the customer')
    .option('--external-id <id>', 'its id in your own program; if a customer has it, nothing is created')
    .option('--metadata <name=value>', 'a text to keep with it; may be repeated', parseMetadata)
    .option('--json', 'print { "customer", "api_key", "api_secret" }, with --external-id also "created"')
    .action(async ({ externalId, metadata, json, ...options }: CreateOptions) => {
      const { name } = readOptions(v.object({ name: Title }), options);
      const body = { name, external_id: externalId, metadata };
      const answer = await withOperator(context, (api) => api.post('/v1/customers', body, CreatedAnswer));
      const { customer, created } = answer;
      const document = {
        customer: { id: customer.id, name: customer.name },
        ...(externalId === undefined ? {} : { created }),
        ...(created ? { api_key: answer.api_key, api_secret: answer.api_secret } : {}),
      };
      const lines = created
        ? [
            `Customer ${customer.id}, ${customer.name}`,
            `  API key     ${answer.api_key}  (shown only now; sent in the header Authentication)`,
            `  API secret  ${answer.api_secret}  (for the hash in every notification)`,
          ]
        : [
            `Customer ${customer.id}, ${customer.name}, has this external id. Nothing was changed, and no secret is shown.`,
            `Create an API key with: ledgerbell keys create --customer ${customer.id}`,
          ];
      context.terminal.answer(json, document, lines.join('\n'));
    });

/** `ledgerbell customers list` */
const listCustomersCommand = (context: CommandContext) =>
  new Command('list')
    .description('show all customers, the oldest first')
    .option(
      '--json',
      'print { "customers": [{ "id", "name", "created_at" }] }, with "external_id" if it has one',
    )
    .action(async ({ json }: { json?: boolean }) => {
      const access = findOperatorAccess(context);
      const { zone, dataDir } = context.readConfig();
      // Several installations may be on this machine, such as that of the demo.
      if (json !== true)
        context.terminal.note(
          access.isLocal
            ? `The installation in ${resolve(dataDir)}:`
            : `The installation on ${new URL(access.url).host}:`,
        );
      const all = Number.POSITIVE_INFINITY;
      const api = createOperatorApi(access);
      const { rows } = await api.list('/v1/customers', 'customers', Customer, all, context.signal);
      const customers = rows.map(({ id, name, external_id, created_at }) => ({
        id,
        name,
        ...(external_id === null ? {} : { external_id }),
        created_at: formatTime(created_at, zone),
      }));
      context.terminal.answer(json, { customers }, describeCustomers(customers));
    });

function describeCustomers(
  customers: readonly { id: number; name: string; external_id?: string; created_at: string | null }[],
): string {
  if (customers.length === 0)
    return 'There are no customers yet. Make one with: ledgerbell customers create --name NAME';
  const hasExternal = customers.some((it) => it.external_id !== undefined);
  const rows = customers.map(({ id, name, external_id, created_at }) => [
    String(id),
    name,
    ...(hasExternal ? [external_id ?? '-'] : []),
    created_at ?? '-',
  ]);
  return renderTable([['id', 'name', ...(hasExternal ? ['external id'] : []), 'since'], ...rows]).join('\n');
}

interface UpdateOptions {
  name?: string;
  externalId?: string | false;
  metadata?: Record<string, string> | false;
  json?: boolean;
}

/** `ledgerbell customers update` */
const updateCustomerCommand = (context: CommandContext) =>
  new Command('update')
    .description('change the name, the external id or the metadata of a customer')
    .argument('<id>', 'of the customer', parseId)
    .option('--name <name>', 'its name')
    .option('--external-id <id>', 'its id in your own program')
    .option('--no-external-id', 'remove its external id')
    .option('--metadata <name=value>', 'replaces all its metadata; may be repeated', parseMetadata)
    .option('--no-metadata', 'remove its metadata')
    .option('--json', 'print the answer of the API as one JSON document')
    .action(async (id: string, { name, externalId, metadata, json }: UpdateOptions) => {
      const body = {
        name,
        external_id: externalId === false ? null : externalId,
        metadata: metadata === false ? {} : metadata,
      };
      const answer = await withOperator(context, (api) =>
        api.patch(`/v1/customers/${id}`, body, CustomerAnswer),
      );
      const { customer } = answer;
      const named = customer.external_id === null ? '' : `, external id ${customer.external_id}`;
      context.terminal.answer(json, answer, `Customer ${customer.id}: ${customer.name}${named}`);
    });

/** `ledgerbell customers delete` */
const deleteCustomerCommand = (context: CommandContext) =>
  new Command('delete')
    .description('delete a customer with everything that belongs to it')
    .argument('<id>', 'of the customer', parseId)
    .option('--yes', 'do not ask')
    .option('--json', 'print { "customer": { "id", "status" } }')
    .action((id: string, options: { yes?: boolean; json?: boolean }) =>
      withOperator(context, async (api) => {
        const { customer } = await api.get(`/v1/customers/${id}`, CustomerAnswer);
        const question = `Delete customer ${id} with its API keys, accounts, movements, webhooks and imports?`;
        await confirm(context, options, question);
        const path = `/v1/customers/${id}?confirm=${encodeURIComponent(customer.name)}`;
        await api.delete(path, CustomerAnswer);
        const lines = [
          `Customer ${id} is being deleted. Its API keys do not work any more, and nothing of it is stored or sent.`,
          `See how far it is with: ledgerbell status`,
        ];
        const answer = { customer: { id: Number(id), status: 'deleting' } };
        context.terminal.answer(options.json, answer, lines.join('\n'));
      }),
    );

/** `ledgerbell customers` */
export const customers = [
  createCustomerCommand,
  listCustomersCommand,
  updateCustomerCommand,
  deleteCustomerCommand,
];
