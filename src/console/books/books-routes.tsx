import { type Context, Hono } from 'hono';
import * as v from 'valibot';
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
import type { Movement } from '../../ledger/movement.ts';
import { Id } from '../../platform/whole-numbers.ts';
import {
  type Column,
  Done,
  Field,
  FilterForm,
  LinkButton,
  More,
  readFilters,
  Table,
} from '../page/elements.tsx';
import { sendConfirmation, sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, callerFor, requireOwner } from '../page/operator.ts';
import { ACCOUNT_GROUPS, accountColumns, FIRST_ACCOUNTS, findBookedAccounts } from './booked-accounts.tsx';

/** The page of the books: the accounts, and the conflicts that wait for a decision. */

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

const PER_PAGE = 50;
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

/** /ops/books: the accounts, the conflicts that wait for a decision, and the decisions. */
export const booksRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { runtime } = context;
  const { database } = runtime;
  const confirm = (decision: DecisionName) => async (c: Context<ApiEnv>) => {
    const id = readId(c, 'conflict');
    const caller = callerFor(c, runtime, await requireOwner(database, 'conflict', id, 'conflict'));
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
    const customerId = await requireOwner(database, 'conflict', id, 'conflict');
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
    .post('/conflicts/:id/ignore', decide('ignore'));
};

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
