import * as v from 'valibot';
import { recordChange } from '../http/audit.ts';
import { readId, readJson } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { invalid, notFound } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import { requireWholeKey } from '../http/whole-key.ts';
import type { Runtime } from '../runtime.ts';
import { AccountChange } from './input.ts';
import { findAccount } from './list.ts';
import { updateAccount } from './update-account.ts';
import { AccountView, viewAccount } from './view.ts';

/** PATCH /v1/accounts/:id */
export const changeAccount = ({ config, database }: Runtime) =>
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
