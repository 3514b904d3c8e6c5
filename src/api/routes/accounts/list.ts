import { And, type DataSource, In, MoreThan } from 'typeorm';
import * as v from 'valibot';
import { AccountView, readDeletionProgress, viewAccount } from '../../../customers/account-view.ts';
import { findAccount } from '../../../customers/accounts.ts';
import type { Caller } from '../../../customers/caller.ts';
import { Account } from '../../../platform/database/entities/account.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { readId, readQuery } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { cutPage, MAX_PER_PAGE, paging, pagingParameters } from '../../paging.ts';
import { createRoute } from '../../route.ts';

const Query = v.strictObject(paging('a1', MAX_PER_PAGE));

function findAccounts(
  database: DataSource,
  { customerId, accountIds }: Caller,
  { after, limit }: { after: string; limit: number },
): Promise<Account[]> {
  const behind = MoreThan(after);
  return database.getRepository(Account).find({
    where: { customerId, id: accountIds === 'all' ? behind : And(behind, In([...accountIds])) },
    relations: { bank: true },
    order: { id: 'ASC' },
    take: limit,
  });
}

/** GET /v1/accounts */
export const listAccountsRoute = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'read',
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
      const caller = c.get('caller');
      const found = await findAccounts(database, caller, { after: cursor, limit: per_page + 1 });
      const accounts = cutPage(c, 'a1', found, per_page);
      const progress = await readDeletionProgress(database, caller.customerId, accounts);
      return c.json({
        accounts: accounts.map((account) => viewAccount(account, config.zone, progress.get(account.id))),
      });
    },
  );

/** GET /v1/accounts/:id. The response is a list with this one account. */
export const getAccountRoute = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'read',
      summary: 'Get an account',
      path: { id: idParameter('account') },
      answer: {
        schema: v.object({ accounts: v.array(AccountView) }),
        description: 'A list with this account only.',
      },
    },
    async (c) => {
      const caller = c.get('caller');
      const account = await findAccount(database, caller, readId(c, 'account'));
      const progress = await readDeletionProgress(database, caller.customerId, [account]);
      return c.json({ accounts: [viewAccount(account, config.zone, progress.get(account.id))] });
    },
  );
