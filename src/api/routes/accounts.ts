import * as v from 'valibot';
import { addDays } from '../../../packages/statements/src/values.ts';
import { BalanceView, CompletenessView, StatementView } from '../../books/books-view.ts';
import { compareBooks } from '../../books/compare-books.ts';
import { EVER, readBalances, viewBalance } from '../../books/find-balances.ts';
import { findStatements, viewPeriod, viewStatement } from '../../books/find-statements.ts';
import { readLateAt } from '../../books/late-statements.ts';
import { readNewestBalances } from '../../books/newest-balances.ts';
import { AccountChange, AccountView, NewAccount, viewAccounts } from '../../customers/account-view.ts';
import { changeAccount, createAccount, findAccount, findAccounts } from '../../customers/accounts.ts';
import type { Account } from '../../database/entities.ts';
import type { Runtime } from '../../database/runtime.ts';
import { readId, readJson, readQuery } from '../../http/input.ts';
import { BEYOND_NEWEST, linkNext, linkPage, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import { invalid } from '../../platform/problem.ts';
import { CalendarDate } from '../../platform/validation.ts';
import { acceptAccountDeletion } from '../../upkeep/request-deletion.ts';
import { idParameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';
import { type AnswerListing, addAccountMovementRoute } from './transactions.ts';

/** The routes of accounts, of their balances and statements, and of what is missing between these. */

const Query = v.strictObject(paging('a1', MAX_PER_PAGE));

const PER_PAGE = 100;

const DAY = 86_400_000;

/** Days as numbers, counted from MySQL's first day, for cursors. A page begins before the day of its cursor. */
const toNumber = (date: string): number => (Date.parse(date) - Date.parse(EVER.from)) / DAY;
const dayBefore = (cursor: string): string =>
  addDays(EVER.from, Math.min(Number(cursor) - 1, toNumber(EVER.to)));

const day = (description: string) => v.pipe(v.optional(CalendarDate), v.description(description));

const BalancesQuery = v.strictObject({
  from: day('The first day.'),
  to: day('The last day.'),
  ...paging('d1', PER_PAGE),
});

/** The most periods in an answer. An account rarely has more than ten. */
const MOST_PERIODS = 1_000;

const StatementsQuery = v.strictObject(paging('n1', PER_PAGE));

const Time = v.strictObject({
  from: day('Only periods that end on this day or later.'),
  to: day('Only periods that begin on this day or earlier.'),
});

/** Shows accounts with their newest balances. */
export async function showAccounts(runtime: Runtime, accounts: readonly Account[]) {
  const ids = accounts.map(({ id }) => id);
  return viewAccounts(runtime, accounts, await readNewestBalances(runtime.database, ids));
}

/** Adds the routes of accounts, their balances and statements. */
export function addAccountRoutes(route: AddRoute, runtime: Runtime, answerListing: AnswerListing): void {
  const { database } = runtime;
  const show = (accounts: readonly Account[]) => showAccounts(runtime, accounts);
  route('GET /v1/accounts', {
    tag: 'Accounts',
    scope: 'read',
    operationId: 'listAccounts',
    summary: 'List your accounts',
    description:
      'Lists the accounts that the API key can see, the oldest first. If there is a next page, the header Link has its path.',
    query: Query,
    answer: {
      schema: v.object({ accounts: v.array(AccountView) }),
      description: 'A page of accounts.',
    },
    handle: async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const page = { after: cursor, limit: per_page + 1 };
      const found = await findAccounts(runtime.database, c.get('caller'), page);
      return c.json({ accounts: await show(linkPage(c, 'a1', found, per_page)) });
    },
  });

  /** The response is a list with this one account. */
  route('GET /v1/accounts/:id', {
    tag: 'Accounts',
    scope: 'read',
    operationId: 'getAccount',
    summary: 'Get an account',
    path: { id: idParameter('account') },
    answer: {
      schema: v.object({ accounts: v.array(AccountView) }),
      description: 'A list with this account only.',
    },
    handle: async (c) => {
      const account = await findAccount(runtime.database, c.get('caller'), readId(c, 'account'));
      return c.json({ accounts: await show([account]) });
    },
  });

  route('POST /v1/accounts', {
    tag: 'Accounts',
    scope: 'admin',
    wholeKey: 'Create accounts with a key for all accounts.',
    idempotent: true,
    operationId: 'createAccount',
    summary: 'Create an account',
    description:
      'Name the bank by its id (bank_id) or by its name (bank). A new name is added to your banks.',
    body: { 'application/json': NewAccount },
    answer: { schema: v.object({ account: AccountView }), description: 'The account.' },
    problems: ['account-limit-reached'],
    handle: async (c) => {
      const caller = c.get('caller');
      const { bank: name = '', bank_id: id, ...fields } = await readJson(c, NewAccount);
      const bank = id === undefined ? { name } : { id };
      const account = { ...fields, bank, customerId: caller.customerId };
      const created = await createAccount(runtime.database, account, caller);
      const [view] = await show([created]);
      return c.json({ account: view });
    },
  });

  route('PATCH /v1/accounts/:id', {
    tag: 'Accounts',
    scope: 'admin',
    wholeKey: 'Change accounts with a key for all accounts.',
    operationId: 'updateAccount',
    summary: 'Change the bank, the title, the IBAN or the number of an account',
    description:
      'Statements find the account by the new IBAN or number from now on. null removes one. The currency cannot be changed. An IBAN that another of your accounts in the same currency has is refused with 422. Needs a key for all accounts.',
    body: { 'application/json': AccountChange },
    path: { id: idParameter('account') },
    answer: { schema: v.object({ account: AccountView }), description: 'The account.' },
    handle: async (c) => {
      const caller = c.get('caller');
      const { id } = await findAccount(runtime.database, caller, readId(c, 'account'));
      const change = await readJson(c, AccountChange);
      const changed = await changeAccount(runtime.database, caller, id, change);
      const [account] = await show([changed]);
      return c.json({ account });
    },
  });

  route('DELETE /v1/accounts/:id', {
    tag: 'Accounts',
    scope: 'admin',
    wholeKey: 'Delete accounts with a key for all accounts.',
    operationId: 'deleteAccount',
    summary: 'Delete an account',
    description:
      'Deletes the account with its movements, their deliveries and its webhooks. It cannot be undone. From the answer on, no movement of the account is stored or sent. What was pending ends as failed. The rows are deleted afterwards: until then the account is shown with the status deleting, and with how far the deletion is. Then it is gone (404). Imports keep their counts, and the body of a failed import that does not name this account stays until the import is removed.',
    path: { id: idParameter('account') },
    answer: {
      status: 202,
      schema: v.object({ account: AccountView }),
      description: 'The account, which is being deleted.',
    },
    handle: async (c) => {
      const caller = c.get('caller');
      const deleting = await acceptAccountDeletion(runtime, caller, readId(c, 'account'));
      const [account] = await show([deleting]);
      return c.json({ account }, 202);
    },
  });

  addAccountMovementRoute(route, runtime, answerListing);

  route('GET /v1/accounts/:id/balances', {
    tag: 'Accounts',
    scope: 'read',
    operationId: 'listBalances',
    summary: 'List the balances of an account',
    description:
      'Lists the balance at the end of each day for which one is known, the last day first, with where it comes from: the closing balance of a statement, or else the balance after the last movement of the day. If there is a next page, the header Link has its path. If there are very many movements a day, a page may have fewer than per_page balances, or none, and still have a next page.',
    path: { id: idParameter('account') },
    query: BalancesQuery,
    answer: {
      schema: v.object({ balances: v.array(BalanceView) }),
      description: 'A page of balances.',
    },
    handle: async (c) => {
      const account = await findAccount(database, c.get('caller'), readId(c, 'account'));
      const { from = EVER.from, to = EVER.to, per_page, cursor } = readQuery(c, BalancesQuery);
      if (from > to) throw invalid([{ path: 'from', message: 'must not be after to' }]);
      const start = cursor === undefined ? to : dayBefore(cursor);
      const range = { from, to: start < to ? start : to };
      const { balances, next } = await readBalances(database, account, range, per_page);
      linkNext(c, 'd1', next === null ? null : String(toNumber(next) + 1));
      return c.json({ balances: balances.map((it) => viewBalance(it, account.currency)) });
    },
  });

  route('GET /v1/accounts/:id/statements', {
    tag: 'Accounts',
    scope: 'read',
    operationId: 'listStatements',
    summary: 'List the statements of an account',
    description:
      'Lists the statements that files have brought, each once, the last received first. If there is a next page, the header Link has its path.',
    path: { id: idParameter('account') },
    query: StatementsQuery,
    answer: {
      schema: v.object({ statements: v.array(StatementView) }),
      description: 'A page of statements.',
    },
    handle: async (c) => {
      const account = await findAccount(database, c.get('caller'), readId(c, 'account'));
      const { per_page, cursor = BEYOND_NEWEST } = readQuery(c, StatementsQuery);
      const page = { before: cursor, limit: per_page + 1 };
      const rows = linkPage(c, 'n1', await findStatements(database, account.id, page), per_page);
      return c.json({ statements: rows.map((row) => viewStatement(row, account.currency)) });
    },
  });

  route('GET /v1/accounts/:id/completeness', {
    tag: 'Accounts',
    scope: 'read',
    operationId: 'getCompleteness',
    summary: 'Find out whether the statements of an account are complete',
    description:
      'The closing balance of a statement is the opening balance of the next. Where it is not, one is missing: a gap, which is gone when the missing file has come.',
    path: { id: idParameter('account') },
    query: Time,
    answer: {
      schema: v.object({ completeness: CompletenessView }),
      description: `The periods of the account, by their days: the last ${MOST_PERIODS.toLocaleString('en')} of the time.`,
    },
    handle: async (c) => {
      const account = await findAccount(database, c.get('caller'), readId(c, 'account'));
      const { from = null, to = null } = readQuery(c, Time);
      if (from !== null && to !== null && from > to)
        throw invalid([{ path: 'from', message: 'must not be after to' }]);
      const { status, periods, differences, contradictions } = await compareBooks(
        database,
        account,
        { from, to },
        MOST_PERIODS,
      );
      const lateAt = await readLateAt(database, account);
      return c.json({
        completeness: {
          status,
          periods: [...periods, ...contradictions].map((period) => ({
            ...viewPeriod(period, account.currency),
            ...(differences.get(period) ?? { missing: [], surplus: [] }),
          })),
          late_at: lateAt?.toISOString() ?? null,
        },
      });
    },
  });
}
