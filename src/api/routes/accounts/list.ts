import * as v from 'valibot';
import { AccountView, viewAccounts } from '../../../customers/account-view.ts';
import { findAccount, findAccounts } from '../../../customers/accounts.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { cutPage, MAX_PER_PAGE, paging, pagingParameters } from '../../../http/paging.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const Query = v.strictObject(paging('a1', MAX_PER_PAGE));

/** GET /v1/accounts */
export const listAccountsRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'read',
      operationId: 'listAccounts',
      summary: 'List your accounts',
      description:
        'Lists the accounts that the API key can see, the oldest first. If there is a next page, the header Link has its path.',
      query: pagingParameters('a1', MAX_PER_PAGE),
      answer: {
        schema: v.object({ accounts: v.array(AccountView) }),
        description: 'A page of accounts.',
      },
    },
    async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const page = { after: cursor, limit: per_page + 1 };
      const found = await findAccounts(runtime.database, c.get('caller'), page);
      return c.json({ accounts: await viewAccounts(runtime, cutPage(c, 'a1', found, per_page)) });
    },
  );

/** GET /v1/accounts/:id. The response is a list with this one account. */
export const getAccountRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'read',
      operationId: 'getAccount',
      summary: 'Get an account',
      path: { id: idParameter('account') },
      answer: {
        schema: v.object({ accounts: v.array(AccountView) }),
        description: 'A list with this account only.',
      },
    },
    async (c) => {
      const account = await findAccount(runtime.database, c.get('caller'), readId(c, 'account'));
      return c.json({ accounts: await viewAccounts(runtime, [account]) });
    },
  );
