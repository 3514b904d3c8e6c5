import { type Context, Hono } from 'hono';
import type { Child } from 'hono/jsx';
import * as v from 'valibot';
import type { Period, PeriodStatus } from '../../../packages/reconcile/src/periods.ts';
import { showAmount } from '../../../packages/statements/src/amounts.ts';
import { type ComparedBooks, compareBooks } from '../../books/compare-books.ts';
import { findStatements, viewPeriod } from '../../books/find-statements.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { viewConflict, viewContent } from '../../intake/conflict-view.ts';
import {
  type FoundConflict,
  findConflict,
  findConflicts,
  findOpenConflicts,
} from '../../intake/decide-conflict.ts';
import type { StatementRecord } from '../../intake/statements.ts';
import type { Movement } from '../../ledger/movement.ts';
import { notFound } from '../../platform/problem.ts';
import { Id } from '../../platform/whole-numbers.ts';
import {
  type Column,
  CustomerLink,
  Done,
  Facts,
  Field,
  FilterForm,
  formatCount,
  LinkButton,
  Moment,
  More,
  MovementLink,
  readFilters,
  Table,
  Tag,
} from '../page/elements.tsx';
import { sendConfirmation, sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, callerFor, findOwner } from '../page/operator.ts';
import {
  ACCOUNT_GROUPS,
  accountColumns,
  FIRST_ACCOUNTS,
  findBookedAccounts,
  TONES,
} from './booked-accounts.tsx';

/** The page of the books of all customers, and the page of one account with its statements. */

/** Index: the primary key. */
const READ_IMPORT_IDS = 'SELECT id, import_id FROM transactions WHERE id IN (?)';

/** Reads the import that has stored each of these movements. */
export async function readImports(
  sql: Sql,
  movementIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (movementIds.length === 0) return new Map();
  const rows = await sql.query<{ id: string; import_id: string }[]>(READ_IMPORT_IDS, [movementIds]);
  return new Map(rows.map(({ id, import_id }) => [id, import_id]));
}

const MONTHS = 12;

/** The worst comes first. */
const SEVERITY: readonly PeriodStatus[] = ['contradiction', 'gap', 'overlap', 'complete'];

interface Day {
  /** YYYY-MM-DD */
  date: string;
  /** null: no statement covers the day. */
  status: PeriodStatus | null;
}

/** The last twelve months of an account from its first to its last statement, the newest first. */
export function monthsOf(periods: readonly Period[]): { month: string; days: Day[] }[] {
  const [first] = periods.map(({ from }) => from).toSorted();
  const last = periods
    .map(({ to }) => to)
    .toSorted()
    .at(-1);
  if (first === undefined || last === undefined) return [];
  const [year, month] = last.split('-').map(Number) as [number, number];
  return Array.from({ length: MONTHS }, (_, back) => {
    const length = new Date(Date.UTC(year, month - back, 0)).getUTCDate();
    const days = Array.from({ length }, (_, index): Day => {
      const date = new Date(Date.UTC(year, month - 1 - back, index + 1)).toISOString().slice(0, 10);
      const about = periods.filter(({ from, to }) => from <= date && date <= to);
      const status = SEVERITY.find((it) => about.some((period) => period.status === it));
      return { date, status: status ?? null };
    });
    return { month: days[0]?.date.slice(0, 7) ?? '', days };
  }).filter(({ month }) => month >= first.slice(0, 7));
}

/** The days of each month, marked as complete, missing or contradictory. */
export const Calendar = ({ periods }: { periods: readonly Period[] }) => (
  <>
    <h2>Calendar</h2>
    <p class="lead">
      Days of which statements have come. A dashed day is in a gap, one with a double border in a
      contradiction.
    </p>
    <dl class="calendar">
      {monthsOf(periods).map(({ month, days }) => (
        <div>
          <dt>{month}</dt>
          <dd>
            <ol>
              {days.map(({ date, status }) => (
                <li class={status === null ? '' : `${status} ${TONES[status]}`}>
                  <time datetime={date} title={`${date}: ${status ?? 'no statement'}`}>
                    {Number(date.slice(8))}
                  </time>
                </li>
              ))}
            </ol>
          </dd>
        </div>
      ))}
    </dl>
  </>
);

const PER_PAGE = 50;
const MOST_STATEMENTS = 100;
const MOST_DIFFERENCES = 100;
const MOST_PERIODS = 100;

const Query = v.object({
  account: v.optional(Id),
  customer: v.optional(Id),
  group: v.optional(v.picklist(ACCOUNT_GROUPS)),
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

/** The messages after a decision. */
const DONE = {
  store: 'The row is stored as a movement, and goes to the webhooks that match it.',
  ignore: 'The row is ignored.',
};

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
    await callApiFor(c, context, customerId, { method: 'POST', path, body: { decision } });
    return c.redirect(`/ops/books?done=${decision}`, 303);
  };

  return new Hono<ApiEnv>()
    .get('/', async (c) => {
      const {
        account,
        customer,
        group = FIRST_ACCOUNTS.group,
        below = FIRST_ACCOUNTS.below,
        before = BEYOND_NEWEST,
        done,
      } = readFilters(c, Query);
      if (account !== undefined) return c.redirect(`/ops/books/accounts/${account}`);
      const listed = { customerId: customer ?? null, place: { group, below } };
      const [{ rows: accounts, next: nextAccounts }, { conflicts, next }] = await Promise.all([
        findBookedAccounts(database, listed, PER_PAGE),
        customer === undefined
          ? findOpenConflicts(database, before, PER_PAGE)
          : findConflicts(database, callerFor(c, runtime, customer), { status: 'open', before }, PER_PAGE),
      ]);
      const importOf = await readImports(
        database,
        conflicts.map(({ stored }) => stored.id),
      );
      return sendPage(
        c,
        { title: 'Books', section: 'Books' },
        <>
          <Done done={done} messages={DONE} />
          <h1>Books</h1>
          <FilterForm>
            <Field label="Statements of account" name="account" value={account} />
            <Field label="Customer id" name="customer" value={customer} />
          </FilterForm>
          <Table
            caption="Accounts"
            columns={accountColumns(new Date())}
            rows={accounts}
            empty={nextAccounts === null ? 'There is none.' : 'None among these. There may be others.'}
          />
          <More label="More accounts" path="/ops/books" filters={{ customer }} next={{ ...nextAccounts }} />
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
          <More label="Older conflicts" path="/ops/books" filters={{ customer }} next={{ before: next }} />
        </>,
      );
    })
    .get('/conflicts/:id/store', confirm('store'))
    .get('/conflicts/:id/ignore', confirm('ignore'))
    .post('/conflicts/:id/store', decide('store'))
    .post('/conflicts/:id/ignore', decide('ignore'))
    .get('/accounts/:id', async (c) => {
      const account = await requireAccount(database, readId(c, 'account'));
      const compared = await compareBooks(database, account);
      const { status } = compared;
      const differences = differencesOf(compared);
      const periods = [...compared.periods, ...compared.contradictions];
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
              ['Customer', <CustomerLink id={account.customer_id} name={account.customer} />],
              ['Currency', account.currency],
              ['IBAN or number', account.iban ?? account.number ?? '–'],
              ['Balances of JSON', account.check_balances === 1 ? 'checked' : 'not checked'],
            ]}
          />
          {periods.length === 0 ? null : <Calendar periods={periods} />}
          <h2>Periods</h2>
          <Table
            caption="Periods"
            columns={periodColumns}
            rows={periods.slice(-MOST_PERIODS).map((period) => viewPeriod(period, account.currency))}
            empty="There is no final statement with an opening and a closing balance."
          />
          {periods.length > MOST_PERIODS ? (
            <p class="calm">
              These are the last {MOST_PERIODS} of {formatCount(periods.length)}.
            </p>
          ) : null}
          <h2>Missing and too much</h2>
          <p class="lead">
            Entries of the statements that are not stored as movements, and movements that no statement has.
          </p>
          <Table
            caption="Missing and too much"
            columns={differenceColumns}
            rows={differences.slice(0, MOST_DIFFERENCES)}
            empty="None."
          />
          {differences.length > MOST_DIFFERENCES ? (
            <p class="calm">
              These are the first {MOST_DIFFERENCES} of {formatCount(differences.length)}.
            </p>
          ) : null}
          <h2>Statements</h2>
          <Table
            caption="Statements"
            columns={statementColumns(new Date(), account.currency)}
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
  number: string | null;
  customer_id: string;
  customer: string;
  check_balances: number;
}

/** Indexes: the primary keys. */
const READ_ACCOUNT = `
  SELECT a.id, a.title, a.currency, a.iban, a.number, a.check_balances, a.customer_id, u.name AS customer
  FROM accounts a JOIN customers u ON u.id = a.customer_id WHERE a.id = ?`;

/** @throws {Problem} 404. */
async function requireAccount(sql: Sql, id: string): Promise<AccountRow> {
  const [account] = await sql.query<AccountRow[]>(READ_ACCOUNT, [id]);
  if (account === undefined) throw notFound('account');
  return account;
}

const describe = ({
  date_issue,
  dc,
  amount,
  description,
}: Pick<ReturnType<typeof viewContent>, 'date_issue' | 'dc' | 'amount' | 'description'>): string =>
  `${date_issue} ${dc === 'Debit' ? '−' : '+'}${amount}${description ? ` ${description}` : ''}`;

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
    cell: ({ row, stored }) => (
      <>
        <a href={`/ops/trace?movement=${stored.id}`}>{describe(viewContent(stored, row.currency))}</a>,{' '}
        {importLink(importOf.get(stored.id) ?? '')}
      </>
    ),
  },
  {
    label: 'Received',
    cell: ({ row }) => (
      <>
        {describe(viewContent(JSON.parse(row.received) as Movement, row.currency))},{' '}
        {importLink(row.import_id)}, line {row.line}
      </>
    ),
  },
  {
    label: 'Decide',
    cell: ({ row }) => (
      <>
        <LinkButton href={`/ops/books/conflicts/${row.id}/store`} text="Store" />{' '}
        <LinkButton href={`/ops/books/conflicts/${row.id}/ignore`} text="Ignore" />
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

/** An entry that is missing, or a movement that is too much, in a period of the statements. */
interface Difference {
  period: Period;
  what: 'missing' | 'too much';
  dc: 'Debit' | 'Credit';
  amount: string;
  /** The import that took a missing entry for another movement, or the movement that is too much. */
  cause: Child;
}

const differencesOf = ({ differences }: ComparedBooks): Difference[] =>
  [...differences].flatMap(([period, { missing, surplus }]) => [
    ...missing.map(({ dc, amount, import_id }): Difference => {
      return { period, what: 'missing', dc, amount, cause: importLink(import_id) };
    }),
    ...surplus.map(({ dc, amount, transaction_id: id }): Difference => {
      return {
        period,
        what: 'too much',
        dc,
        amount,
        cause: (
          <>
            movement <MovementLink id={String(id)} />
          </>
        ),
      };
    }),
  ]);

const differenceColumns: Column<Difference>[] = [
  { label: 'From', cell: ({ period }) => period.from },
  { label: 'To', cell: ({ period }) => period.to },
  { label: 'What', cell: ({ what }) => <Tag tone="bad">{what}</Tag> },
  { label: 'Direction', cell: ({ dc }) => dc },
  { label: 'Amount', kind: 'number', cell: ({ amount }) => amount },
  { label: 'Seen in', cell: ({ cause }) => cause },
];

const show = (balance: string | null, currency: string) =>
  balance === null ? '–' : showAmount(balance, currency);

const statementColumns = (now: Date, currency: string): Column<StatementRecord>[] => [
  { label: 'Number', cell: ({ number, sequence }) => [number, sequence].filter(Boolean).join('/') || '–' },
  { label: 'From', cell: ({ from_date }) => from_date ?? '–' },
  { label: 'To', cell: ({ to_date }) => to_date ?? '–' },
  { label: 'Kind', cell: ({ kind }) => kind },
  { label: 'Opening', kind: 'number', cell: (it) => show(it.opening_balance, currency) },
  { label: 'Closing', kind: 'number', cell: (it) => show(it.closing_balance, currency) },
  { label: 'Difference', kind: 'number', cell: (it) => show(it.difference, currency) },
  { label: 'Entries', kind: 'number', cell: ({ entries }) => formatCount(entries) },
  { label: 'Import', cell: ({ import_id }) => <a href={`/ops/imports/${import_id}`}>{import_id}</a> },
  { label: 'Received', cell: ({ received_at }) => <Moment at={received_at} now={now} /> },
];
