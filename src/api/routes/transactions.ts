import type { Context } from 'hono';
import * as v from 'valibot';
import { maySee } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId, readQuery } from '../../http/input.ts';
import { linkNext } from '../../http/paging.ts';
import { renderPage, renderTransaction, TransactionView } from '../../movements/body.ts';
import { findAccountIds, findImportInterval, isSearch, type Listing } from '../../movements/listing.ts';
import {
  type AccountsOfRows,
  addExtended,
  createPageOffsetCache,
  findTransaction,
  listTransactions,
  type Page,
  readAccounts,
} from '../../movements/transactions.ts';
import { createBudget } from '../../platform/budget.ts';
import { invalid, notFound, Problem } from '../../platform/problem.ts';
import { idParameter, type QuerySchema } from '../openapi/openapi.ts';
import { answerCsv } from './csv-answer.ts';
import {
  AccountListingQuery,
  type Asked,
  CSV_TYPE,
  CustomerListingQuery,
  cursorKind,
  Fields,
  readListing,
} from './listing-query.ts';
import type { AddRoute } from './route.ts';

/** The routes of movements, of a customer and of an account. */

const TransactionQuery = v.strictObject({ fields: Fields });

const listing = <Query extends QuerySchema>(query: Query) => ({
  tag: 'Movements',
  scope: 'read' as const,
  operationId: 'listTransactions',
  summary: 'List movements',
  description:
    'Lists movements in the order of their ids, without those that were withdrawn, or only these with withdrawn=only, in the order of their withdrawals. Give at least one of starts, ends, after, unique_id and import_id. To read all pages, follow the header Link, rel="next": its cost does not grow with the number of pages. A page behind the last one is an empty list. With q, an amount, opponent_iban, import_id or withdrawn, a page ends after 200,000 movements that were looked at, perhaps with nothing; Link then leads on, and Ledgerbell-Searched-Through says how far the search has come. If format is csv, or the header Accept prefers text/csv, the answer is a CSV file of all pages (RFC 4180), in UTF-8 and with the names of the columns in its first line. A CSV that could not be completed ends with a broken connection.',
  query,
  answer: {
    schema: v.object({ transactions: v.array(TransactionView) }),
    description: 'A page of movements.',
    headers: ['Ledgerbell-Searched-Through', 'Content-Disposition'] as const,
    stream: CSV_TYPE,
  },
  problems: ['overloaded'] as const,
});

/** Adds the routes of movements. */
export function addMovementRoutes(
  route: AddRoute,
  { config, database }: Runtime,
  answer: AnswerListing,
): void {
  const LISTING = listing(CustomerListingQuery(config.zone));
  route('GET /v1/transactions', {
    ...LISTING,
    handle: async (c) => {
      const caller = c.get('caller');
      const asked = readListing(c, LISTING.query);
      if (asked.accountIds === undefined) return answer(c, caller, asked);
      const rows = asked.accountIds.map((account_id) => ({ account_id }));
      const accounts = await readAccounts(database, caller.customerId, rows);
      const unknown = asked.accountIds.find((id) => !accounts.has(id) || !maySee(caller, id));
      if (unknown !== undefined) {
        throw invalid([{ path: 'account', message: `has ${unknown}, which is not one of your accounts` }]);
      }
      return answer(c, { ...caller, accountIds: [...accounts.keys()] }, asked, accounts);
    },
  });

  route('GET /v1/transactions/:id', {
    tag: 'Movements',
    scope: 'read',
    operationId: 'getTransaction',
    summary: 'Get a movement',
    description: 'Shows a movement, also one that was withdrawn, with withdrawn_at and withdrawn_reason.',
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
export function addAccountMovementRoute(
  route: AddRoute,
  { config, database }: Runtime,
  answer: AnswerListing,
): void {
  const LISTING = listing(AccountListingQuery(config.zone));
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
      const asked = readListing(c, LISTING.query);
      return answer(c, { ...caller, accountIds: [...accounts.keys()] }, asked, accounts);
    },
  });
}

const SECOND = 1_000;

/** Pages at the same time for which movements are looked at one by one, which takes a processor for up to seconds, and pages of CSVs. */
const SEARCHES = { total: 8, perOwner: 2, patience: 15 * SECOND };

/** CSVs that are sent at the same time. A client that takes its CSV slowly keeps a page of it in memory. */
const EXPORTS = { total: 100, perOwner: 20, patience: 5 * SECOND };

/** 503 after a wait. @param doing what has reached its limits, such as "CSVs are sent". */
const tooMuch = (doing: string, { total, perOwner, patience }: typeof EXPORTS) =>
  new Problem(
    'overloaded',
    `At most ${total} ${doing} at the same time, and at most ${perOwner} per customer. Send this request again later.`,
    { headers: { 'Retry-After': String(patience / SECOND) } },
  );

const tooManySearches = () => tooMuch('searches run', SEARCHES);

/** Answers with what a request to one of the listings asks for. @param accounts the listing's accounts, if they have been read already. */
export type AnswerListing = (
  c: Context<ApiEnv>,
  scope: Scope,
  asked: Asked,
  accounts?: AccountsOfRows,
) => Promise<Response>;

/** Creates the function that answers both listings, which share the turns of searches and the known places of pages. */
export function createAnswerListing({ config, database, log }: Runtime): AnswerListing {
  const offsets = createPageOffsetCache();
  const turns = createBudget(SEARCHES);
  const exports = createBudget(EXPORTS);

  /** Lists the accounts where a listing needs them by name. */
  async function chooseAccounts(scope: Scope, { currency, listing }: Asked): Promise<Listing['accountIds']> {
    if (currency === undefined && (listing.uniqueId === undefined || scope.accountIds !== 'all'))
      return scope.accountIds;
    return findAccountIds(database, scope, currency);
  }

  async function findImport({ customerId }: Scope, { importId }: Asked): Promise<Listing['import']> {
    if (importId === undefined) return undefined;
    const found = await findImportInterval(database, customerId, importId);
    if (found !== null) return found;
    const message = 'is not one of your imports, or it has been removed';
    throw invalid([{ path: 'import_id', message }]);
  }

  /** @returns null: no turn came in time. */
  async function read(
    listing: Listing,
    { isExtended, csv }: Asked,
    accounts?: AccountsOfRows,
  ): Promise<Page | null> {
    const leave =
      isSearch(listing) || csv !== undefined ? await turns.reserve(listing.customerId, 1) : () => {};
    if (leave === null) return null;
    try {
      return await readPage(listing, { isExtended, accounts });
    } finally {
      leave();
    }
  }

  async function readPage(
    listing: Listing,
    { isExtended, accounts }: { isExtended: boolean; accounts: AccountsOfRows | undefined },
  ): Promise<Page> {
    const page = await listTransactions(database, offsets.shorten(listing), config.zone, accounts);
    offsets.keep(listing, page);
    if (isExtended) await addExtended(database, page.transactions);
    return page;
  }

  /** Reads one page after another. The first is that of the listing. The key is asked for again before each further page. */
  async function* readAll(
    first: Listing,
    asked: Asked,
    { accounts, requireKey }: { accounts: AccountsOfRows | undefined; requireKey: () => Promise<void> },
  ): AsyncGenerator<Page> {
    for (let listing = first; ; ) {
      const page = await read(listing, asked, accounts);
      if (page === null && listing === first) throw tooManySearches();
      // The answer has begun, so the next page waits for its turn.
      if (page === null) continue;
      yield page;
      if (page.next === null) return;
      await requireKey();
      listing = { ...listing, cursor: page.next };
    }
  }

  return async (c, scope, asked, accounts) => {
    const listing: Listing = {
      ...asked.listing,
      customerId: scope.customerId,
      accountIds: await chooseAccounts(scope, asked),
      import: await findImport(scope, asked),
    };
    c.header('Vary', 'Accept');
    if (asked.csv !== undefined) {
      const onEnd = await exports.reserve(scope.customerId, 1);
      if (onEnd === null) throw tooMuch('CSVs are sent', EXPORTS);
      const pages = readAll(listing, asked, { accounts, requireKey: c.get('requireKey') });
      return answerCsv(c, { pages, csv: asked.csv, name: nameOf(listing), log, onEnd });
    }
    const found = await read(listing, asked, accounts);
    if (found === null) throw tooManySearches();
    const { transactions, next, searchedThrough } = found;
    linkNext(c, cursorKind(listing), next);
    if (searchedThrough !== undefined) c.header('Ledgerbell-Searched-Through', searchedThrough);
    return c.body(renderPage(transactions), 200, { 'Content-Type': 'application/json' });
  };
}

/** Whose movements are listed. */
type Scope = Pick<Listing, 'customerId' | 'accountIds'>;

/** The name of the file of a CSV. */
const nameOf = ({ isWithdrawn, starts, ends }: Listing): string =>
  `${[isWithdrawn === true ? 'withdrawn-movements' : 'movements', starts, ends].filter((it) => it !== null).join('-')}.csv`;
