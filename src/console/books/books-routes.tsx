import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { findStatements, readCompleteness, viewPeriod } from '../../books/find-statements.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { viewConflict } from '../../intake/conflict-view.ts';
import { type FoundConflict, findConflict, findOpenConflicts } from '../../intake/decide-conflict.ts';
import type { StatementRecord } from '../../intake/statements.ts';
import type { Movement } from '../../ledger/movement.ts';
import { notFound } from '../../platform/problem.ts';
import { Id } from '../../platform/validation.ts';
import {
  type Column,
  Facts,
  Field,
  formatCount,
  Moment,
  More,
  Notice,
  Table,
  Tag,
} from '../page/elements.tsx';
import { sendConfirmation } from '../page/error-page.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, callerFor, findOwner, requireAnswer } from '../page/operator.ts';
import { pathWith, readFilters } from '../page/read-filters.ts';
import { type BookedAccount, findBookedAccounts, readImports } from './account-rows.ts';
import { Calendar, TONES } from './calendar.tsx';

const PER_PAGE = 50;
const MOST_STATEMENTS = 100;

const Query = v.object({
  account: v.optional(Id),
  below: v.optional(Id),
  before: v.optional(Id),
  done: v.optional(v.string()),
});

const DECISIONS = {
  store: {
    button: 'Store it',
    consequence: 'The received row becomes a movement of its own, and is sent to the webhooks that match it.',
  },
  ignore: {
    button: 'Ignore it',
    consequence: 'The received row is not stored. The movement that was stored first stays as it is.',
  },
} as const;

type DecisionName = keyof typeof DECISIONS;

/** /ops/books: the accounts, the conflicts that wait for a decision, and the statements of an account. */
export const booksRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { runtime } = context;
  const { database } = runtime;
  const confirm = (decision: DecisionName) => async (c: Context<ApiEnv>) => {
    const id = readId(c, 'conflict');
    const caller = callerFor(c, runtime, await findOwner(database, 'conflict', id));
    const conflict = await findConflict(database, caller, id);
    const { account_id, unique_id, stored, received } = viewConflict(conflict.row, conflict.stored);
    return sendConfirmation(c, 'Books', {
      question: `${decision === 'store' ? 'Store' : 'Ignore'} the row under ${unique_id} of account ${account_id}?`,
      consequences: [
        `Stored is ${describe(stored)}. Received was ${describe(received)}.`,
        DECISIONS[decision].consequence,
        'This cannot be undone.',
      ],
      button: DECISIONS[decision].button,
      back: '/ops/books',
    });
  };
  const decide = (decision: DecisionName) => async (c: Context<ApiEnv>) => {
    const id = readId(c, 'conflict');
    const customerId = await findOwner(database, 'conflict', id);
    const path = `/v1/conflicts/${id}`;
    await requireAnswer(
      await callApiFor(c, context, customerId, { method: 'POST', path, body: { decision } }),
    );
    return c.redirect(`/ops/books?done=${decision}`, 303);
  };

  return new Hono<ApiEnv>()
    .get('/', async (c) => {
      const { account, below = BEYOND_NEWEST, before = BEYOND_NEWEST, done } = readFilters(c, Query);
      if (account !== undefined) return c.redirect(`/ops/books/accounts/${account}`);
      const { accounts, next: nextAccount } = await findBookedAccounts(database, below, PER_PAGE);
      const { conflicts, next } = await findOpenConflicts(database, before, PER_PAGE);
      const importOf = await readImports(
        database,
        conflicts.map(({ stored }) => stored.id),
      );
      return sendPage(
        c,
        { title: 'Books', section: 'Books' },
        <>
          {done === 'store' ? <Notice tone="good">The row is stored as a movement, and sent.</Notice> : null}
          {done === 'ignore' ? <Notice tone="good">The row is ignored.</Notice> : null}
          <h1>Books</h1>
          <form class="filters">
            <Field label="Statements of account" name="account" value={account} />
            <button type="submit">Show</button>
          </form>
          <Table
            caption="Accounts"
            columns={accountColumns(new Date())}
            rows={accounts}
            empty="There is no account."
          />
          <More
            label="Older accounts"
            href={nextAccount === null ? null : pathWith('/ops/books', { below: nextAccount })}
          />
          <h2>Conflicts that wait for a decision</h2>
          <p class="lead">
            A row came with the unique_id of a stored movement and another direction, amount or date. It is
            not stored until somebody decides.
          </p>
          <Table
            caption="Open conflicts"
            columns={conflictColumns(importOf)}
            rows={conflicts}
            empty="None."
          />
          <More
            label="Older conflicts"
            href={next === null ? null : pathWith('/ops/books', { before: next })}
          />
        </>,
      );
    })
    .get('/conflicts/:id/store', confirm('store'))
    .get('/conflicts/:id/ignore', confirm('ignore'))
    .post('/conflicts/:id/store', decide('store'))
    .post('/conflicts/:id/ignore', decide('ignore'))
    .get('/accounts/:id', async (c) => {
      const account = await requireAccount(database, readId(c, 'account'));
      const { status, periods } = await readCompleteness(database, account.id);
      const statements = await findStatements(database, account.id, {
        before: BEYOND_NEWEST,
        limit: MOST_STATEMENTS,
      });
      return sendPage(
        c,
        { title: `Statements of account ${account.id}`, section: 'Books' },
        <>
          <h1>
            Statements of account {account.id}, {account.title} <Tag tone={TONES[status]}>{status}</Tag>
          </h1>
          <Facts
            facts={[
              ['Customer', account.customer],
              ['Currency', account.currency],
              ['IBAN', account.iban ?? '–'],
              ['Balances of JSON', account.check_balances === 1 ? 'checked' : 'not checked'],
            ]}
          />
          {periods.length === 0 ? null : <Calendar periods={periods} />}
          <h2>Periods</h2>
          <Table
            caption="Periods"
            columns={periodColumns}
            rows={periods.map(viewPeriod)}
            empty="There is no final statement with an opening and a closing balance."
          />
          <h2>Statements</h2>
          <Table
            caption="Statements"
            columns={statementColumns(new Date())}
            rows={statements}
            empty="None."
          />
          {statements.length === MOST_STATEMENTS ? (
            <p class="calm">These are the last {MOST_STATEMENTS} that came.</p>
          ) : null}
        </>,
      );
    });
};

interface AccountRow {
  id: string;
  title: string;
  currency: string;
  iban: string | null;
  customer: string;
  check_balances: number;
}

/** Indexes: the primary keys. */
const ACCOUNT = `
  SELECT a.id, a.title, a.currency, a.iban, a.check_balances, u.name AS customer
  FROM accounts a JOIN customers u ON u.id = a.customer_id WHERE a.id = ?`;

/** @throws {Problem} 404. */
async function requireAccount(sql: Sql, id: string): Promise<AccountRow> {
  const [account] = await sql.query<AccountRow[]>(ACCOUNT, [id]);
  if (account === undefined) throw notFound('account');
  return account;
}

const describe = ({
  date_issue,
  dc,
  amount,
  description,
}: Pick<Movement, 'date_issue' | 'dc' | 'amount' | 'description'>): string =>
  `${date_issue} ${dc === 'Debit' ? '−' : '+'}${amount}${description ? ` ${description}` : ''}`;

const accountColumns = (now: Date): Column<BookedAccount>[] => [
  { label: 'Account', cell: ({ id }) => <a href={`/ops/books/accounts/${id}`}>{id}</a> },
  { label: 'Customer', cell: ({ customer }) => customer },
  { label: 'Bank', cell: ({ bank }) => bank },
  { label: 'Title', kind: 'wide', cell: ({ title, currency }) => `${title}, ${currency}` },
  {
    label: 'Newest statement',
    cell: ({ newest_day: day, newest_number: number }) =>
      day === null ? '–' : number === null ? day : `${day}, number ${number}`,
  },
  {
    label: 'Statements are',
    cell: ({ completeness, late_since }) => (
      <>
        {completeness === null ? '–' : <Tag tone={TONES[completeness]}>{completeness}</Tag>}
        {late_since === null ? null : (
          <>
            {' '}
            <Tag tone="warn">late</Tag> since <Moment at={late_since} now={now} />
          </>
        )}
      </>
    ),
  },
  { label: 'Open conflicts', kind: 'number', cell: (it) => formatCount(Number(it.open_conflicts)) },
];

const importLink = (id: string | number) => <a href={`/ops/imports/${id}`}>import {id}</a>;

/** @param importOf the import that stored a movement. */
const conflictColumns = (importOf: ReadonlyMap<string, string>): Column<FoundConflict>[] => [
  {
    label: 'Account',
    cell: ({ row }) => <a href={`/ops/books/accounts/${row.account_id}`}>{row.account_id}</a>,
  },
  { label: 'unique_id', cell: ({ stored }) => stored.unique_id },
  {
    label: 'Stored',
    cell: ({ stored }) => (
      <>
        <a href={`/ops/trace?movement=${stored.id}`}>{describe(stored)}</a>,{' '}
        {importLink(importOf.get(stored.id) ?? '')}
      </>
    ),
  },
  {
    label: 'Received',
    cell: ({ row }) => (
      <>
        {describe(JSON.parse(row.received) as Movement)}, {importLink(row.import_id)}, line {row.line}
      </>
    ),
  },
  {
    label: 'Decide',
    cell: ({ row }) => (
      <>
        <a class="button" href={`/ops/books/conflicts/${row.id}/store`}>
          Store
        </a>{' '}
        <a class="button" href={`/ops/books/conflicts/${row.id}/ignore`}>
          Ignore
        </a>
      </>
    ),
  },
];

const periodColumns: Column<ReturnType<typeof viewPeriod>>[] = [
  { label: 'From', cell: ({ from }) => from },
  { label: 'To', cell: ({ to }) => to },
  { label: 'Status', cell: ({ status }) => <Tag tone={TONES[status]}>{status}</Tag> },
  { label: 'Balance before', kind: 'number', cell: (it) => it.opening_balance },
  { label: 'Balance after', kind: 'number', cell: (it) => it.closing_balance },
  {
    label: 'Difference',
    kind: 'number',
    cell: ({ status, difference }) => (status === 'gap' || status === 'contradiction' ? difference : '–'),
  },
];

const statementColumns = (now: Date): Column<StatementRecord>[] => [
  { label: 'Number', cell: ({ number, sequence }) => [number, sequence].filter(Boolean).join('/') || '–' },
  { label: 'From', cell: ({ from_date }) => from_date ?? '–' },
  { label: 'To', cell: ({ to_date }) => to_date ?? '–' },
  { label: 'Kind', cell: ({ kind }) => kind },
  { label: 'Opening', kind: 'number', cell: (it) => it.opening_balance ?? '–' },
  { label: 'Closing', kind: 'number', cell: (it) => it.closing_balance ?? '–' },
  { label: 'Entries', kind: 'number', cell: ({ entries }) => formatCount(entries) },
  { label: 'Import', cell: ({ import_id }) => <a href={`/ops/imports/${import_id}`}>{import_id}</a> },
  { label: 'Received', cell: ({ received_at }) => <Moment at={received_at} now={now} /> },
];
