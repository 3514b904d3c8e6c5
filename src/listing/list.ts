import type { Context } from 'hono';
import * as v from 'valibot';
import { BankView } from '../accounts/view.ts';
import { type ApiEnv, createHandlers, maySee } from '../http/environment.ts';
import { readId, readQuery } from '../http/input.ts';
import { linkNext } from '../http/next-page.ts';
import { describe } from '../http/openapi.ts';
import { invalid, notFound } from '../http/problem.ts';
import { parseMoment } from '../moment.ts';
import type { Runtime } from '../runtime.ts';
import { isCalendarDate } from '../validation.ts';
import type { ZoneOffset } from '../zone-offset.ts';
import { type ListedAccount, readAccounts } from './accounts.ts';
import { renderPage } from './body.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { Listing } from './listing.ts';
import { createPageOffsetCache, type PageOffsetCache } from './page-offset-cache.ts';
import { listTransactions } from './transactions.ts';

const MAX_PER_PAGE = 1_000;

const wholeNumber = (most: number, rule: string) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,12}$/, rule),
    v.transform(Number),
    v.minValue(1, rule),
    v.maxValue(most, rule),
  );

const date = v.optional(
  v.pipe(v.string(), v.check(isCalendarDate, 'must be a date that exists, written YYYY-MM-DD')),
);

const query = (zone: ZoneOffset) =>
  v.strictObject({
    starts: date,
    ends: date,
    after: v.optional(
      v.pipe(
        v.string(),
        v.check(
          (text) => parseMoment(text, zone) !== null,
          'must be a moment that exists, written YYYY-MM-DD HH:mm:ss, with an offset such as +03 if it is not the service’s',
        ),
      ),
    ),
    page: v.optional(wholeNumber(999_999_999_999, 'must be a whole number from 1')),
    per_page: v.optional(
      wholeNumber(MAX_PER_PAGE, `must be a whole number from 1 to ${MAX_PER_PAGE}`),
      String(MAX_PER_PAGE),
    ),
    cursor: v.optional(
      v.pipe(
        v.string(),
        v.check((text) => decodeCursor(text) !== null, 'must be taken from a Link header as it is'),
      ),
    ),
  });

const TransactionView = v.object({
  id: v.string(),
  account_id: v.string(),
  name: v.nullable(v.string()),
  dc: v.picklist(['Debit', 'Credit']),
  code: v.nullable(v.string()),
  amount: v.string(),
  balance: v.nullable(v.string()),
  description: v.nullable(v.string()),
  date_issue: v.string(),
  date_readed: v.string(),
  opponent_id: v.nullable(v.string()),
  opponent_iban: v.nullable(v.string()),
  unique_id: v.string(),
  account: v.object({ id: v.string(), title: v.string(), bank_id: v.string(), bank: BankView }),
});

const description = describe({
  tag: 'Movements',
  summary: 'List movements',
  description:
    'At least one of starts, ends and after must be given. Order: id ascending. The way on is in the header Link, rel="next".',
  query: {
    starts: { description: 'The first date_issue, inclusive.', example: '2026-01-01' },
    ends: { description: 'The last date_issue, inclusive.' },
    after: {
      description: 'The earliest date_readed, inclusive: YYYY-MM-DD HH:mm:ss, with or without an offset.',
    },
    page: { description: 'From 1. For deep listings follow Link, whose cost does not grow.' },
    per_page: { description: `From 1 to ${MAX_PER_PAGE}; ${MAX_PER_PAGE} when not given.` },
    cursor: { description: 'From a Link header; goes with the same starts, ends and after.' },
  },
  answer: { schema: v.object({ transactions: v.array(TransactionView) }), description: 'One page.' },
  problems: ['not-found', 'invalid'],
});

/** GET /v1/transactions */
export const listAllTransactions = (runtime: Runtime) => {
  const offsets = createPageOffsetCache();
  return createHandlers(description, (c) => {
    const { customerId, accountIds } = c.get('caller');
    return answer(c, runtime, offsets, readListing(c, runtime.config.zone, { customerId, accountIds }));
  });
};

/** GET /v1/accounts/:account_id/transactions */
export const listAccountTransactions = (runtime: Runtime) => {
  const offsets = createPageOffsetCache();
  return createHandlers(description, async (c) => {
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
    after: after === undefined ? null : parseMoment(after, zone),
    cursor: cursor === undefined ? null : decodeCursor(cursor),
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
  if (page.next !== null) linkNext(c, encodeCursor(page.next));
  return c.body(renderPage(page.transactions), 200, { 'Content-Type': 'application/json' });
}
