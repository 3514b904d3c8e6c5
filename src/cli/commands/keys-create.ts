import { Command } from 'commander';
import * as v from 'valibot';
import { createApiKey, findForeignAccounts } from '../../customers/keys.ts';
import { inTransaction, type Sql } from '../../database/transaction.ts';
import type { CommandContext } from '../context.ts';
import { requireCustomer } from '../customer.ts';
import { Failure } from '../failure.ts';
import { withInstallation } from '../open-service.ts';
import { parseId, parseIds, readOptions } from '../values.ts';

const Options = v.object({
  title: v.pipe(
    v.string(),
    v.trim(),
    v.minLength(1, 'must not be blank'),
    v.maxLength(200, 'must be at most 200 characters long'),
  ),
});

/** `ledgerbell keys create` */
export const createKeyCommand = (context: CommandContext) =>
  new Command('create')
    .description('create another API key for a customer')
    .requiredOption('--customer <id>', 'the customer', parseId)
    .option('--title <title>', 'what the key is for', 'Created on the command line')
    .option(
      '--account <id>',
      'limit the key to this account; can be repeated (default: all accounts)',
      parseIds,
    )
    .option('--json', 'print { "apikey": { "id", "apikey" } }')
    .action(async (options: { customer: string; title: string; account?: string[]; json?: boolean }) => {
      const { title } = readOptions(Options, options);
      const { customer: customerId, account: accountIds } = options;
      await withInstallation(context, async ({ database }) => {
        await requireCustomer(database, customerId);
        const { id, apikey } = await inTransaction(database, async (sql) => {
          if (accountIds !== undefined) await requireAccounts(sql, customerId, accountIds);
          return createApiKey(sql, { customerId, title, accountIds: unique(accountIds) ?? 'all' });
        });
        const text = `API key ${id} of customer ${customerId} (shown only now)\n  ${apikey}`;
        context.terminal.answer(options.json, { apikey: { id: Number(id), apikey } }, text);
      });
    });

const unique = (ids: readonly string[] | undefined) => (ids === undefined ? undefined : [...new Set(ids)]);

async function requireAccounts(sql: Sql, customerId: string, accountIds: readonly string[]): Promise<void> {
  const [unknown] = await findForeignAccounts(sql, customerId, accountIds);
  if (unknown !== undefined)
    throw new Failure(`--account ${unknown} is not an account of customer ${customerId}.`);
}
