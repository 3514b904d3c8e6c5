import { Hono } from 'hono';
import type * as v from 'valibot';
import type { ChainStatement, Period, PeriodStatus } from '../../../packages/reconcile/src/periods.ts';
import { showAmount } from '../../../packages/statements/src/amounts.ts';
import type { MissingView, SurplusView } from '../../books/books-view.ts';
import { type ComparedBooks, compareBooks } from '../../books/compare-books.ts';
import { findStatements, viewPeriod } from '../../books/find-statements.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import type { StatementRecord } from '../../intake/statements.ts';
import { notFound } from '../../platform/problem.ts';
import {
  type Column,
  CustomerLink,
  Facts,
  formatCount,
  ImportLink,
  LinkButton,
  Moment,
  MovementLink,
  pathWith,
  Table,
  Tag,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { WithdrawButton, withdrawPath } from '../withdrawals/withdrawals.tsx';
import { TONES } from './booked-accounts.tsx';

/** The page of one account: what its statements say, what is missing and what is too much. */

const MOST_STATEMENTS = 100;
const MOST_DIFFERENCES = 100;
const MOST_PERIODS = 100;

/** GET /ops/books/accounts/:id. */
export const accountPage = ({ database }: Pick<Runtime, 'database'>): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/:id', async (c) => {
    const account = await requireAccount(database, readId(c, 'account'));
    const compared = await compareBooks(database, account);
    const { status } = compared;
    const differences = differencesOf(compared);
    const periods = [...compared.periods, ...compared.contradictions];
    const all = periods.flatMap((it) => it.statements);
    const rows = periods
      .slice(-MOST_PERIODS)
      .map((it) => ({ ...viewPeriod(it, account.currency), rivals: rivalsOf(it, all) }));
    const statements = await findStatements(database, account.id, {
      before: BEYOND_NEWEST,
      limit: MOST_STATEMENTS,
    });
    return sendPage(
      c,
      { title: `Statements of account ${account.id}`, section: 'Books', customerId: account.customer_id },
      <>
        <h1>
          Statements of account {account.id}, {account.title} <Tag tone={TONES[status]}>{status}</Tag>
        </h1>
        <nav class="actions" aria-label="What belongs to the account">
          <LinkButton
            href={pathWith('/ops/movements', { customer: account.customer_id, account: account.id })}
            text="Movements"
          />
        </nav>
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
          columns={
            rows.some(({ rivals }) => rivals.length > 0) ? [...periodColumns, rivalsColumn] : periodColumns
          }
          rows={rows}
          empty="There is no final statement with an opening and a closing balance."
        />
        <Cut which="last" most={MOST_PERIODS} count={periods.length} />
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
        <Cut which="first" most={MOST_DIFFERENCES} count={differences.length} />
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
const Calendar = ({ periods }: { periods: readonly Period[] }) => (
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

/** Says that a table shows only a part of its rows. @param most how many it shows. */
const Cut = ({ which, most, count }: { which: 'first' | 'last'; most: number; count: number }) =>
  count <= most ? null : (
    <p class="calm">
      These are the {which} {most} of {formatCount(count)}.
    </p>
  );

/** More statements that contradict each other are found in the list of statements alone. */
const MOST_RIVALS = 4;

/** The ids of the statements that contradict each other in a period: its own, and those of all that end the same day. */
function rivalsOf({ status, to, statements }: Period, all: readonly ChainStatement[]): string[] {
  if (status !== 'contradiction') return [];
  const rivals = [...all.filter((it) => it.to === to), ...statements];
  const ids = [...new Set(rivals.flatMap(({ id }) => id ?? []))];
  return ids.length > MOST_RIVALS ? [] : ids;
}

type PeriodRow = ReturnType<typeof viewPeriod> & { rivals: readonly string[] };

const periodColumns: Column<PeriodRow>[] = [
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

const rivalsColumn: Column<PeriodRow> = {
  label: 'If one replaces the other',
  cell: ({ rivals }) =>
    rivals.map((id) => (
      <>
        <WithdrawButton kind="statement" id={id} text={`Withdraw ${id}`} />{' '}
      </>
    )),
};

/** An entry that is missing, or a movement that is too much, in a period of the statements. */
type Difference = { period: Period } & (
  | { what: 'missing'; it: v.InferOutput<typeof MissingView> }
  | { what: 'too much'; it: v.InferOutput<typeof SurplusView> }
);

const differencesOf = ({ differences }: ComparedBooks): Difference[] =>
  [...differences].flatMap(([period, { missing, surplus }]) => [
    ...missing.map((it) => ({ period, what: 'missing' as const, it })),
    ...surplus.map((it) => ({ period, what: 'too much' as const, it })),
  ]);

const differenceColumns: Column<Difference>[] = [
  { label: 'From', cell: ({ period }) => period.from },
  { label: 'To', cell: ({ period }) => period.to },
  { label: 'What', cell: ({ what }) => <Tag tone="bad">{what}</Tag> },
  { label: 'Direction', cell: ({ it }) => it.dc },
  { label: 'Amount', kind: 'number', cell: ({ it }) => it.amount },
  {
    label: 'Seen in',
    cell: ({ what, it }) =>
      what === 'missing' ? (
        <>
          import <ImportLink id={it.import_id} />
        </>
      ) : (
        <>
          movement <MovementLink id={String(it.transaction_id)} />
        </>
      ),
  },
];

const show = (balance: string | null, currency: string) =>
  balance === null ? '–' : showAmount(balance, currency);

const statementColumns = (now: Date, currency: string): Column<StatementRecord>[] => [
  { label: 'Statement', cell: ({ id }) => id },
  { label: 'Number', cell: ({ number, sequence }) => [number, sequence].filter(Boolean).join('/') || '–' },
  { label: 'From', cell: ({ from_date }) => from_date ?? '–' },
  { label: 'To', cell: ({ to_date }) => to_date ?? '–' },
  { label: 'Kind', cell: ({ kind }) => kind },
  { label: 'Opening', kind: 'number', cell: (it) => show(it.opening_balance, currency) },
  { label: 'Closing', kind: 'number', cell: (it) => show(it.closing_balance, currency) },
  { label: 'Difference', kind: 'number', cell: (it) => show(it.difference, currency) },
  { label: 'Entries', kind: 'number', cell: ({ entries }) => formatCount(entries) },
  { label: 'Import', cell: ({ import_id }) => <ImportLink id={import_id} /> },
  { label: 'Received', cell: ({ received_at }) => <Moment at={received_at} now={now} /> },
  {
    label: 'If it was replaced',
    cell: ({ id }) => <a href={withdrawPath({ kind: 'statement', id })}>Withdraw</a>,
  },
];
