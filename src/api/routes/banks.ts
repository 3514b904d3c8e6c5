import * as v from 'valibot';
import { BankView } from '../../customers/account-view.ts';
import { findBanks } from '../../customers/accounts.ts';
import type { Runtime } from '../../database/runtime.ts';
import { readQuery } from '../../http/input.ts';
import { linkPage, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import type { AddRoute } from './route.ts';

const Query = v.strictObject(paging('b1', MAX_PER_PAGE));

/** Adds the list of banks. */
export function addBankRoutes(route: AddRoute, { database }: Runtime): void {
  route('GET /v1/banks', {
    tag: 'Accounts',
    scope: 'read',
    operationId: 'listBanks',
    summary: 'List your banks',
    description:
      'Lists the banks of the customer, the oldest first. If there is a next page, the header Link has its path.',
    query: Query,
    answer: {
      schema: v.object({ banks: v.array(BankView) }),
      description: 'A page of banks.',
    },
    handle: async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const found = await findBanks(database, c.get('caller').customerId, {
        after: cursor,
        limit: per_page + 1,
      });
      const banks = linkPage(c, 'b1', found, per_page);
      return c.json({ banks: banks.map(({ id, name }) => ({ id: Number(id), name })) });
    },
  });
}
