import * as v from 'valibot';
import { AccountChange, AccountView, viewAccounts } from '../../../customers/account-view.ts';
import { changeAccount, findAccount } from '../../../customers/accounts.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readJson } from '../../../http/input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute, requireWholeKey } from '../route.ts';

/** PATCH /v1/accounts/:id */
export const changeAccountRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'admin',
      operationId: 'updateAccount',
      summary: 'Change the title, the IBAN or the number of an account',
      description:
        'Statements find the account by the new IBAN or number from now on. null removes one. Bank and currency cannot be changed. An IBAN that another of your accounts in the same currency has is refused with 422. Needs a key for all accounts.',
      body: { 'application/json': AccountChange },
      path: { id: idParameter('account') },
      answer: { schema: v.object({ account: AccountView }), description: 'The account.' },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Change accounts with a key for all accounts.');
      const { id } = await findAccount(runtime.database, caller, readId(c, 'account'));
      const change = await readJson(c, AccountChange);
      const changed = await changeAccount(runtime.database, caller, id, change);
      const [account] = await viewAccounts(runtime, [changed]);
      return c.json({ account });
    },
  );
