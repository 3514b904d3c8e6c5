import { Command } from 'commander';
import { listCustomers } from '../../customers/customers.ts';
import { formatMoment } from '../../moment.ts';
import type { CommandContext } from '../context.ts';
import { withInstallation } from '../open-service.ts';
import { renderTable } from '../terminal.ts';

/** `ledgerbell customers list` */
export const listCustomersCommand = (context: CommandContext) =>
  new Command('list')
    .description('show all customers, the oldest first')
    .option('--json', 'print { "customers": [{ "id", "name", "created_at" }] }')
    .action(({ json }: { json?: boolean }) =>
      withInstallation(context, async ({ database }) => {
        const { zone } = context.readConfig();
        const customers = (await listCustomers(database)).map(({ id, name, created_at }) => ({
          id: Number(id),
          name,
          created_at: formatMoment(created_at, zone),
        }));
        const rows = customers.map(({ id, name, created_at }) => [String(id), name, created_at]);
        const text =
          rows.length === 0
            ? 'There are no customers yet. Make one with: npm run cli -- customers create --name NAME'
            : renderTable([['id', 'name', 'since'], ...rows]).join('\n');
        context.terminal.answer(json, { customers }, text);
      }),
    );
