import type { Context } from 'hono';
import * as v from 'valibot';
import { maySee } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId, readQuery } from '../../http/input.ts';
import { linkNext, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import { renderPage, renderTransaction, TransactionView } from '../../movements/body.ts';
import type { Listing } from '../../movements/listing.ts';
import {
  type AccountsOfRows,
  addExtended,
  createPageOffsetCache,
  findTransaction,
  listTransactions,
  type PageOffsetCache,
  readAccounts,
} from '../../movements/transactions.ts';
import { Moment, type ZoneOffset } from '../../platform/moment.ts';
import { invalid, notFound } from '../../platform/problem.ts';
import { CalendarDate } from '../../platform/validation.ts';
import { WholeNumber } from '../../platform/whole-numbers.ts';
import { idParameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

/** The routes of movements, of a customer and of an account. */

const Fields = v.pipe(
  v.optional(v.picklist(['extended'], 'must be "extended", or left out')),
  v.description('"extended" adds what the bank says beyond the usual fields, as the object extended.'),
);

const TransactionQuery = v.strictObject({ fields: Fields });

const MAX_PAGE = 999_999_999_999;

const ListingQuery = (zone: ZoneOffset) =>
  v.strictObject({
    starts: v.pipe(
      v.optional(CalendarDate),
      v.description('The first date_issue, inclusive. It must not be later than ends.'),
      v.examples(['2026-01-01']),
    ),
    ends: v.pipe(v.optional(CalendarDate), v.description('The last date_issue, inclusive.')),
    after: v.pipe(
      v.optional(Moment(zone)),
      v.description(
        'The earliest date_readed, inclusive: YYYY-MM-DD HH:mm:ss with or without an offset. You can paste a date_readed.',
      ),
    ),
    page: v.pipe(
      v.optional(WholeNumber(1, MAX_PAGE, 'must be a whole number from 1')),
      v.description('The number of the page, from 1. Not together with cursor.'),
    ),
    ...paging('t1', MAX_PER_PAGE),
    fields: Fields,
  });

const listing = (zone: ZoneOffset) => ({
  tag: 'Movements',
  scope: 'read' as const,
  operationId: 'listTransactions',
  summary: 'List movements',
  description:
    'Lists movements in the order of their ids. Give at least one of starts, ends and after. To read all pages, follow the header Link, rel="next": its cost does not grow with the number of pages. A page behind the last one is an empty list.',
  query: ListingQuery(zone),
  answer: {
    schema: v.object({ transactions: v.array(TransactionView) }),
    description: 'A page of movements.',
  },
});

function readListing(
  c: Context<ApiEnv>,
  query: ReturnType<typeof ListingQuery>,
  scope: Pick<Listing, 'customerId' | 'accountIds'>,
): { listing: Listing; isExtended: boolean } {
  const { starts, ends, after, page, per_page, cursor, fields } = readQuery(c, query);
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
  accounts?: AccountsOfRows,
): Promise<Response> {
  const page = await listTransactions(database, offsets.shorten(listing), config.zone, accounts);
  offsets.keep(listing, page);
  if (isExtended) await addExtended(database, page.transactions);
  linkNext(c, 't1', page.next);
  return c.body(renderPage(page.transactions), 200, { 'Content-Type': 'application/json' });
}

/** Adds the routes of movements. */
export function addMovementRoutes(route: AddRoute, runtime: Runtime): void {
  const { config, database } = runtime;
  const offsets = createPageOffsetCache();
  const LISTING = listing(config.zone);
  route('GET /v1/transactions', {
    ...LISTING,
    handle: (c) => {
      const { customerId, accountIds } = c.get('caller');
      return answer(c, runtime, offsets, readListing(c, LISTING.query, { customerId, accountIds }));
    },
  });

  route('GET /v1/transactions/:id', {
    tag: 'Movements',
    scope: 'read',
    operationId: 'getTransaction',
    summary: 'Get a movement',
    path: { id: idParameter('movement') },
    query: TransactionQuery,
    answer: { schema: v.object({ transaction: TransactionView }), description: 'The movement.' },
    handle: async (c) => {
      const { fields } = readQuery(c, TransactionQuery);
      const transaction = await findTransaction(
        database,
        c.get('caller'),
        readId(c, 'movement'),
        config.zone,
      );
      if (transaction === null) throw notFound('movement');
      if (fields === 'extended') await addExtended(database, [transaction]);
      return c.body(`{"transaction":${renderTransaction(transaction)}}`, 200, {
        'Content-Type': 'application/json',
      });
    },
  });
}

/** Adds the listing of one account. */
export function addAccountMovementRoute(route: AddRoute, runtime: Runtime): void {
  const { config, database } = runtime;
  const offsets = createPageOffsetCache();
  const LISTING = listing(config.zone);
  route('GET /v1/accounts/:account_id/transactions', {
    ...LISTING,
    operationId: 'listAccountTransactions',
    summary: 'List the movements of an account',
    path: { account_id: idParameter('account') },
    handle: async (c) => {
      const caller = c.get('caller');
      const account_id = readId(c, 'account', 'account_id');
      if (!maySee(caller, account_id)) throw notFound('account');
      const accounts = await readAccounts(database, caller.customerId, [{ account_id }]);
      if (accounts.size === 0) throw notFound('account');
      const scope = { customerId: caller.customerId, accountIds: [...accounts.keys()] };
      return answer(c, runtime, offsets, readListing(c, LISTING.query, scope), accounts);
    },
  });
}
