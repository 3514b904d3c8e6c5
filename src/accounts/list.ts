import { type DataSource, In } from 'typeorm';
import * as v from 'valibot';
import { Account } from '../database/entities/account.ts';
import { type Caller, createHandlers, maySee } from '../http/environment.ts';
import { readId } from '../http/input.ts';
import { describe } from '../http/openapi.ts';
import { notFound } from '../http/problem.ts';
import type { Runtime } from '../runtime.ts';
import { AccountView, viewAccount } from './view.ts';

function findAccounts(database: DataSource, { customerId, accountIds }: Caller): Promise<Account[]> {
  return database.getRepository(Account).find({
    where: { customerId, ...(accountIds === 'all' ? {} : { id: In([...accountIds]) }) },
    relations: { bank: true },
    order: { id: 'ASC' },
  });
}

/** GET /v1/accounts */
export const listAccounts = ({ config, database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Accounts',
      summary: 'List your accounts',
      answer: {
        schema: v.object({ accounts: v.array(AccountView) }),
        description: 'All that the key may see.',
      },
    }),
    async (c) => {
      const accounts = await findAccounts(database, c.get('caller'));
      return c.json({ accounts: accounts.map((account) => viewAccount(account, config.zone)) });
    },
  );

/** GET /v1/accounts/:id. The response is a list with this one account. */
export const getAccount = ({ config, database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Accounts',
      summary: 'Look at an account',
      answer: {
        schema: v.object({ accounts: v.array(AccountView) }),
        description: 'A list of this one account.',
      },
      problems: ['not-found'],
    }),
    async (c) => {
      const account = await findAccount(database, c.get('caller'), readId(c, 'account'));
      return c.json({ accounts: [viewAccount(account, config.zone)] });
    },
  );

/** @throws {Problem} 404. */
async function findAccount(database: DataSource, caller: Caller, id: string): Promise<Account> {
  const account = maySee(caller, id)
    ? await database
        .getRepository(Account)
        .findOne({ where: { id, customerId: caller.customerId }, relations: { bank: true } })
    : null;
  if (account === null) throw notFound('account');
  return account;
}
