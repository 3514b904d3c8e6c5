import { Command } from 'commander';
import * as v from 'valibot';
import { AccountView } from '../../accounts/view.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import { confirm } from '../confirm.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';

const AccountList = v.looseObject({ accounts: v.array(v.looseObject(AccountView.entries)) });
const Deleting = v.looseObject({ account: v.looseObject(AccountView.entries) });

/** `ledgerbell accounts delete` */
export const deleteAccountCommand = (context: CommandContext) =>
  addAccessOptions(new Command('delete').description('delete an account with its movements and webhooks'))
    .argument('<id>', 'of the account', parseId)
    .option('--yes', 'do not ask')
    .action(async (id: string, options: AccessOptions & { yes?: boolean }) => {
      const subject = { kind: 'account', id } as const;
      const path = `/v1/accounts/${id}`;
      const answer = await withAccess(context, options, { subject, wakes: true }, async (api) => {
        const { accounts } = await api.get(path, AccountList);
        const question = `Delete account ${id}, ${accounts[0]?.title ?? ''}, with all of its movements and its webhooks?`;
        await confirm(context, options, question);
        return api.delete(path, Deleting);
      });
      const lines = [
        `Account ${id} is being deleted. From now on, nothing of it is stored or sent.`,
        `See how far it is with: npm run cli -- status`,
      ];
      context.terminal.answer(options.json, answer, lines.join('\n'));
    });
