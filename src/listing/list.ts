import type { Context } from 'hono';
import * as v from 'valibot';
import { encodeCursor } from '../http/cursor.ts';
import { type ApiEnv, maySee } from '../http/environment.ts';
import { readId, readQuery } from '../http/input.ts';
import { idParameter, type RouteDescription } from '../http/openapi.ts';
import { linkNext, MAX_PER_PAGE, paging, pagingParameters, wholeNumber } from '../http/paging.ts';
import { invalid, notFound } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import { Moment } from '../moment.ts';
import type { Runtime } from '../runtime.ts';
import { isCalendarDate } from '../validation.ts';
import type { ZoneOffset } from '../zone-offset.ts';
import { type ListedAccount, readAccounts } from './accounts.ts';
import type { Listing } from './listing.ts';
import { createPageOffsetCache, type PageOffsetCache } from './page-offset-cache.ts';
import { listTransactions } from './transactions.ts';
import { TransactionView } from './view.ts';

const MAX_PAGE = 999_999_999_999;

const date = v.optional(
  v.pipe(v.string(), v.check(isCalendarDate, 'must be a date that exists, written YYYY-MM-DD')),
);

const query = (zone: ZoneOffset) =>
  v.strictObject({
    starts: date,
    ends: date,
    after: v.optional(Moment(zone)),
    page: v.optional(wholeNumber(MAX_PAGE, 'must be a whole number from 1')),
    ...paging('t1', MAX_PER_PAGE),
  });

const DATE = { type: 'string', format: 'date' } as const;

const description: RouteDescription = {
  tag: 'Movements',
  scope: 'read',
  summary: 'List movements',
  description:
    'At least one of starts, ends and after must be given. Order: id ascending. The header Link, rel="next", leads to the next page.',
  query: {
    starts: { description: 'The first date_issue, inclusive.', example: '2026-01-01', schema: DATE },
    ends: { description: 'The last date_issue, inclusive.', schema: DATE },
    after: {
      description: 'The earliest date_readed, inclusive: YYYY-MM-DD HH:mm:ss, with or without an offset.',
    },
    page: {
      description: 'From 1. For deep listings follow Link, whose cost does not grow.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE },
    },
    ...pagingParameters(MAX_PER_PAGE),
  },
  answer: { schema: v.object({ transactions: v.array(TransactionView) }), description: 'One page.' },
  problems: ['not-found', 'invalid'],
};

/** GET /v1/transactions */
export const listAllTransactions = (runtime: Runtime) => {
  const offsets = createPageOffsetCache();
  return createRoute(description, (c) => {
    const { customerId, accountIds } = c.get('caller');
    return answer(c, runtime, offsets, readListing(c, runtime.config.zone, { customerId, accountIds }));
  });
};

/** GET /v1/accounts/:account_id/transactions */
export const listAccountTransactions = (runtime: Runtime) => {
  const offsets = createPageOffsetCache();
  const path = { account_id: idParameter('account') };
  const summary = 'List the movements of an account';
  return createRoute({ ...description, summary, path }, async (c) => {
    const caller = c.get('caller');
    const account_id = readId(c, 'account', 'account_id');
    if (!maySee(caller, account_id)) throw notFound('account');
    const accounts = await readAccounts(runtime.database, caller.customerId, [{ account_id }]);
    if (accounts.size === 0) throw notFound('account');
    const scope = { customerId: caller.customerId, accountIds: [...accounts.keys()] };
    return answer(c, runtime, offsets, readListing(c, runtime.config.zone, scope), accounts);
  });
};

function readListing(
  c: Context<ApiEnv>,
  zone: ZoneOffset,
  scope: Pick<Listing, 'customerId' | 'accountIds'>,
): Listing {
  const { starts, ends, after, page, per_page, cursor } = readQuery(c, query(zone));
  if (starts === undefined && ends === undefined && after === undefined) {
    throw invalid([{ path: 'starts', message: 'is required, unless ends or after is given' }]);
  }
  if (starts !== undefined && ends !== undefined && starts > ends) {
    throw invalid([{ path: 'starts', message: 'must not be later than ends' }]);
  }
  if (page !== undefined && cursor !== undefined) {
    throw invalid([{ path: 'page', message: 'must not be given together with cursor' }]);
  }
  return {
    ...scope,
    starts: starts ?? null,
    ends: ends ?? null,
    after: after ?? null,
    cursor: cursor ?? null,
    page: page ?? 1,
    perPage: per_page,
  };
}

async function answer(
  c: Context<ApiEnv>,
  { config, database }: Runtime,
  offsets: PageOffsetCache,
  listing: Listing,
  accounts?: ReadonlyMap<string, ListedAccount>,
): Promise<Response> {
  const page = await listTransactions(database, offsets.shorten(listing), config.zone, accounts);
  offsets.keep(listing, page);
  if (page.next !== null) linkNext(c, encodeCursor(page.next, 't1'));
  // As bytes, because Hono and Node take longer for a text of this size.
  const body = Buffer.from(JSON.stringify({ transactions: page.transactions }));
  return c.body(body, 200, { 'Content-Type': 'application/json' });
}
