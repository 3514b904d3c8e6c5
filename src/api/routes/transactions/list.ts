import type { Context } from 'hono';
import * as v from 'valibot';
import { maySee } from '../../../customers/caller.ts';
import type { Runtime } from '../../../database/runtime.ts';
import type { ApiEnv } from '../../../http/app.ts';
import { readId, readQuery } from '../../../http/input.ts';
import {
  encodeCursor,
  linkNext,
  MAX_PER_PAGE,
  paging,
  pagingParameters,
  wholeNumber,
} from '../../../http/paging.ts';
import { renderPage, TransactionView } from '../../../movements/body.ts';
import type { Listing } from '../../../movements/listing.ts';
import {
  addExtended,
  createPageOffsetCache,
  type ListedAccount,
  listTransactions,
  type PageOffsetCache,
  readAccounts,
} from '../../../movements/transactions.ts';
import { MOMENT, Moment, type ZoneOffset } from '../../../platform/moment.ts';
import { invalid, notFound } from '../../../platform/problem.ts';
import { CALENDAR_DATE, CalendarDate } from '../../../platform/validation.ts';
import { idParameter, type RouteDescription } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';
import { FIELDS_PARAMETER, FieldsQuery } from './fields.ts';

const MAX_PAGE = 999_999_999_999;

const query = (zone: ZoneOffset) =>
  v.strictObject({
    starts: v.optional(CalendarDate),
    ends: v.optional(CalendarDate),
    after: v.optional(Moment(zone)),
    page: v.optional(wholeNumber(MAX_PAGE, 'must be a whole number from 1')),
    fields: FieldsQuery,
    ...paging('t1', MAX_PER_PAGE),
  });

const DATE = { type: 'string', format: 'date', pattern: `^${CALENDAR_DATE}$` } as const;

const description: RouteDescription = {
  tag: 'Movements',
  scope: 'read',
  operationId: 'listTransactions',
  summary: 'List movements',
  description:
    'Lists movements in the order of their ids. Give at least one of starts, ends and after. To read all pages, follow the header Link, rel="next": its cost does not grow with the number of pages. A page behind the last one is an empty list.',
  query: {
    starts: {
      description: 'The first date_issue, inclusive. It must not be later than ends.',
      example: '2026-01-01',
      schema: DATE,
    },
    ends: { description: 'The last date_issue, inclusive.', schema: DATE },
    after: {
      description:
        'The earliest date_readed, inclusive: YYYY-MM-DD HH:mm:ss with or without an offset. You can paste a date_readed.',
      schema: { type: 'string', pattern: MOMENT },
    },
    page: {
      description: 'The number of the page, from 1. Not together with cursor.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE },
    },
    ...pagingParameters('t1', MAX_PER_PAGE),
    fields: FIELDS_PARAMETER,
  },
  answer: {
    schema: v.object({ transactions: v.array(TransactionView) }),
    description: 'A page of movements.',
  },
};

/** GET /v1/transactions */
export const listTransactionsRoute = (runtime: Runtime) => {
  const offsets = createPageOffsetCache();
  return createRoute(description, (c) => {
    const { customerId, accountIds } = c.get('caller');
    return answer(c, runtime, offsets, readListing(c, runtime.config.zone, { customerId, accountIds }));
  });
};

/** GET /v1/accounts/:account_id/transactions */
export const listAccountTransactionsRoute = (runtime: Runtime) => {
  const offsets = createPageOffsetCache();
  const path = { account_id: idParameter('account') };
  const named = { operationId: 'listAccountTransactions', summary: 'List the movements of an account' };
  return createRoute({ ...description, ...named, path }, async (c) => {
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
): { listing: Listing; isExtended: boolean } {
  const { starts, ends, after, page, per_page, cursor, fields } = readQuery(c, query(zone));
  if (starts === undefined && ends === undefined && after === undefined) {
    throw invalid([{ path: 'starts', message: 'is required, unless ends or after is given' }]);
  }
  if (starts !== undefined && ends !== undefined && starts > ends) {
    throw invalid([{ path: 'starts', message: 'must not be later than ends' }]);
  }
  if (page !== undefined && cursor !== undefined) {
    throw invalid([{ path: 'page', message: 'must not be given together with cursor' }]);
  }
  const listing = {
    ...scope,
    starts: starts ?? null,
    ends: ends ?? null,
    after: after ?? null,
    cursor: cursor ?? null,
    page: page ?? 1,
    perPage: per_page,
  };
  return { listing, isExtended: fields === 'extended' };
}

async function answer(
  c: Context<ApiEnv>,
  { config, database }: Runtime,
  offsets: PageOffsetCache,
  { listing, isExtended }: ReturnType<typeof readListing>,
  accounts?: ReadonlyMap<string, ListedAccount>,
): Promise<Response> {
  const page = await listTransactions(database, offsets.shorten(listing), config.zone, accounts);
  offsets.keep(listing, page);
  if (isExtended) await addExtended(database, page.transactions);
  if (page.next !== null) linkNext(c, encodeCursor(page.next, 't1'));
  return c.body(renderPage(page.transactions), 200, { 'Content-Type': 'application/json' });
}
