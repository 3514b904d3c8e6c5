import * as v from 'valibot';
import { BalanceView, EVER, readBalances, viewBalance } from '../../../books/find-balances.ts';
import { addDays } from '../../../books/statement-chain.ts';
import { findAccount } from '../../../customers/accounts.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { encodeCursor, linkNext, paging, pagingParameters } from '../../../http/paging.ts';
import { invalid } from '../../../platform/problem.ts';
import { CalendarDate } from '../../../platform/validation.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const PER_PAGE = 100;

const DAY = 86_400_000;

/** Days as numbers, counted from MySQL's first day, for cursors. A page begins before the day of its cursor. */
const toNumber = (date: string): number => (Date.parse(date) - Date.parse(EVER.from)) / DAY;
const dayBefore = (cursor: string): string =>
  addDays(EVER.from, Math.min(Number(cursor) - 1, toNumber(EVER.to)));

const Query = v.strictObject({
  from: v.optional(CalendarDate),
  to: v.optional(CalendarDate),
  ...paging('d1', PER_PAGE),
});

const day = (description: string) => ({ description, schema: { type: 'string', format: 'date' } }) as const;

/** GET /v1/accounts/:id/balances */
export const listBalancesRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'read',
      operationId: 'listBalances',
      summary: 'List the balances of an account',
      description:
        'Lists the balance at the end of each day for which one is known, the last day first, with where it comes from: the closing balance of a statement, or else the balance after the last movement of the day. If there is a next page, the header Link has its path. If there are very many movements a day, a page may have fewer than per_page balances, or none, and still have a next page.',
      path: { id: idParameter('account') },
      query: {
        from: day('The first day.'),
        to: day('The last day.'),
        ...pagingParameters('d1', PER_PAGE),
      },
      answer: {
        schema: v.object({ balances: v.array(BalanceView) }),
        description: 'A page of balances.',
      },
    },
    async (c) => {
      const account = await findAccount(database, c.get('caller'), readId(c, 'account'));
      const { from = EVER.from, to = EVER.to, per_page, cursor } = readQuery(c, Query);
      if (from > to) throw invalid([{ path: 'from', message: 'must not be after to' }]);
      const start = cursor === undefined ? to : dayBefore(cursor);
      const range = { from, to: start < to ? start : to };
      const { balances, next } = await readBalances(database, account, range, per_page);
      if (next !== null) linkNext(c, encodeCursor(String(toNumber(next) + 1), 'd1'));
      return c.json({ balances: balances.map((it) => viewBalance(it, account.currency)) });
    },
  );
