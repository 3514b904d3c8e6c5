import * as v from 'valibot';
import { AccountChange, AccountView, viewAccount } from '../../../customers/account-view.ts';
import { findAccount, updateAccount } from '../../../customers/accounts.ts';
import { recordChange } from '../../../customers/audit.ts';
import { invalid, notFound } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { readId, readJson } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute, requireWholeKey } from '../../route.ts';

/** PATCH /v1/accounts/:id */
export const changeAccountRoute = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'admin',
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
      const { id } = await findAccount(database, caller, readId(c, 'account'));
      const change = await readJson(c, AccountChange);
      const update = await updateAccount(database, { id, customerId: caller.customerId, change }, (sql) =>
        recordChange(sql, caller, {
          action: 'change',
          subject: `account ${id}`,
          detail: Object.keys(change).join(', '),
        }),
      );
      switch (update.outcome) {
        case 'missing':
          throw notFound('account');
        case 'IBAN taken':
          throw invalid([{ path: 'iban', message: `is that of account ${update.by}, in the same currency` }]);
        case 'changed':
          return c.json({ account: viewAccount(await findAccount(database, caller, id), config.zone) });
      }
    },
  );
