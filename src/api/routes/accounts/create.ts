import * as v from 'valibot';
import { AccountView, NewAccount, viewAccount } from '../../../customers/account-view.ts';
import { createAccount as storeAccount } from '../../../customers/accounts.ts';
import { recordChange } from '../../../customers/audit.ts';
import { invalid } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { readJson } from '../../input.ts';
import { createRoute, requireWholeKey } from '../../route.ts';

/** POST /v1/accounts */
export const createAccountRoute = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'admin',
      idempotent: true,
      summary: 'Create an account',
      description:
        'Name the bank by its id (bank_id) or by its name (bank). A new name is added to your banks.',
      body: { 'application/json': NewAccount },
      answer: { schema: v.object({ account: AccountView }), description: 'The account.' },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Create accounts with a key for all accounts.');
      const { bank, bank_id, title, currency, iban, number } = await readJson(c, NewAccount);
      const account = await storeAccount(database, {
        customerId: caller.customerId,
        bank: bank_id === undefined ? { name: bank ?? '' } : { id: bank_id },
        title,
        currency,
        iban,
        number,
        record: (sql, id) =>
          recordChange(sql, caller, {
            action: 'create',
            subject: `account ${id}`,
            detail: `${title}, ${currency}`,
          }),
      });
      if (account === null)
        throw invalid([
          { path: 'bank_id', message: 'must be the id of one of your banks, as GET /v1/banks lists them' },
        ]);
      return c.json({ account: viewAccount(account, config.zone) });
    },
  );
