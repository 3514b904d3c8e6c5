import * as v from 'valibot';
import { AccountView, NewAccount, viewAccounts } from '../../../customers/account-view.ts';
import { createAccount } from '../../../customers/accounts.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readJson } from '../../../http/input.ts';
import { createRoute, requireWholeKey } from '../route.ts';

/** POST /v1/accounts */
export const createAccountRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'admin',
      idempotent: true,
      operationId: 'createAccount',
      summary: 'Create an account',
      description:
        'Name the bank by its id (bank_id) or by its name (bank). A new name is added to your banks.',
      body: { 'application/json': NewAccount },
      answer: { schema: v.object({ account: AccountView }), description: 'The account.' },
      problems: ['limited-api-key', 'account-limit-reached'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Create accounts with a key for all accounts.');
      const {
        bank = '',
        bank_id,
        on_conflict: onConflict,
        late_after_days: lateAfterDays,
        check_balances: checkBalances,
        statement_numbers: statementNumbers,
        ...fields
      } = await readJson(c, NewAccount);
      const account = {
        ...fields,
        onConflict,
        lateAfterDays,
        checkBalances,
        statementNumbers,
        customerId: caller.customerId,
        bank: bank_id === undefined ? { name: bank } : { id: bank_id },
      };
      const created = await createAccount(runtime.database, account, caller);
      const [view] = await viewAccounts(runtime, [created]);
      return c.json({ account: view });
    },
  );
