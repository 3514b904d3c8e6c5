import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { describeUnlisted, MOST_COUNTED, WithdrawalPlanView } from '../../intake/withdrawal-plan-view.ts';
import type { WithdrawalRow } from '../../intake/withdrawal-view.ts';
import { notFound, Problem } from '../../platform/problem.ts';
import { TONES } from '../books/booked-accounts.tsx';
import {
  type Column,
  CustomerLink,
  countOf,
  Done,
  Field,
  formatCount,
  ImportLink,
  LinkButton,
  MovementLink,
  Table,
  Tag,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor } from '../page/operator.ts';
import { readWithdrawalsOf, type Withdrawable, withdrawalColumns, withdrawPath } from './withdrawals.tsx';

/** The page that withdraws an import or a statement: first what would be withdrawn, then how far it is. */

/** The import or the statement that is withdrawn, with its customer. */
interface Found extends Withdrawable {
  customer_id: string;
  customer: string;
  import_id: string;
  /** Of a statement. */
  account_id: string | null;
}

/** Indexes: the primary keys. A statement that was withdrawn is found too. */
const FIND = {
  import: `
    SELECT i.customer_id, u.name AS customer, i.id AS import_id, NULL AS account_id
    FROM imports i JOIN customers u ON u.id = i.customer_id WHERE i.id = ?`,
  statement: `
    SELECT s.customer_id, u.name AS customer, s.import_id, s.account_id
    FROM (SELECT customer_id, import_id, account_id FROM statements WHERE id = ?
      UNION ALL SELECT customer_id, import_id, account_id FROM withdrawn_statements WHERE id = ?) s
    JOIN customers u ON u.id = s.customer_id`,
};

/** @throws {Problem} 404. */
async function find(sql: Sql, c: Context<ApiEnv>, kind: Withdrawable['kind']): Promise<Found> {
  const id = readId(c, kind);
  const values = kind === 'statement' ? [id, id] : [id];
  const [row] = await sql.query<Omit<Found, 'kind' | 'id'>[]>(FIND[kind], values);
  if (row === undefined) throw notFound(kind);
  return { ...row, kind, id };
}

/** The movements that are shown. */
const PER_PAGE = 50;

/** The form's fields. The API checks the values. */
const Form = v.object({ reason: v.optional(v.string(), '') });

/** /ops/imports/:id/withdraw and /ops/statements/:id/withdraw. A dry run may take longer than other pages: it counts up to 100,000 movements. */
export const withdrawRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database } = context.runtime;
  const show = (kind: Withdrawable['kind']) => async (c: Context<ApiEnv>) => {
    const it = await find(database, c, kind);
    const withdrawals = (await readWithdrawalsOf(database, it.import_id)).filter(
      ({ statement_id }) => statement_id === '0' || (kind === 'statement' && statement_id === it.id),
    );
    // A withdrawal that has failed can be requested again.
    return withdrawals.some(({ status }) => status !== 'failed')
      ? sendWithdrawals(c, it, withdrawals)
      : ask(c, context, it, { withdrawals });
  };
  const withdraw = (kind: Withdrawable['kind']) => async (c: Context<ApiEnv>) => {
    const it = await find(database, c, kind);
    // A body that is no form has no fields.
    const { reason } = v.parse(Form, await c.req.parseBody().catch(() => ({})));
    try {
      const path = `/v1/${kind}s/${it.id}/withdraw`;
      await callApiFor(c, context, it.customer_id, { method: 'POST', path, body: { reason } });
    } catch (error) {
      const mistake = error instanceof Problem && error.errors?.find(({ path }) => path === 'reason');
      if (!mistake) throw error;
      return ask(c, context, it, { reason, mistake: mistake.message });
    }
    return c.redirect(`${withdrawPath(it)}?done=withdraw`, 303);
  };
  return new Hono<ApiEnv>()
    .get('/imports/:id/withdraw', show('import'))
    .post('/imports/:id/withdraw', withdraw('import'))
    .get('/statements/:id/withdraw', show('statement'))
    .post('/statements/:id/withdraw', withdraw('statement'));
};

const sectionOf = ({ kind }: Withdrawable) => (kind === 'import' ? 'Imports' : 'Books');

/** Where something came from: the page of the import, or of the account of the statement. */
const originOf = ({ account_id, import_id }: Found): string =>
  account_id === null ? `/ops/imports/${import_id}` : `/ops/books/accounts/${account_id}`;

/** Shows the withdrawal of something that is withdrawn. */
const sendWithdrawals = (c: Context<ApiEnv>, it: Found, withdrawals: readonly WithdrawalRow[]) =>
  sendPage(
    c,
    { title: `Withdrawal of ${it.kind} ${it.id}`, section: sectionOf(it), customerId: it.customer_id },
    <>
      <Done
        done={c.req.query('done')}
        messages={{ withdraw: 'The withdrawal is accepted. This page shows how far it is.' }}
      />
      <h1>
        Withdrawal of {it.kind} {it.id} of <CustomerLink id={it.customer_id} name={it.customer} />
      </h1>
      <nav class="actions" aria-label="What belongs to it">
        <LinkButton href={`/ops/imports/${it.import_id}`} text={`Import ${it.import_id}`} />
        {it.account_id === null ? null : (
          <LinkButton href={originOf(it)} text={`Statements of account ${it.account_id}`} />
        )}
      </nav>
      <Table
        caption="Withdrawals"
        columns={withdrawalColumns(new Date())}
        rows={withdrawals}
        empty="There is none."
      />
    </>,
  );

interface Asked {
  withdrawals?: readonly WithdrawalRow[];
  /** As it was typed. */
  reason?: string;
  /** Why the reason was refused. */
  mistake?: string;
}

/** Shows what would be withdrawn, and asks for the reason. */
async function ask(
  c: Context<ApiEnv>,
  context: ConsoleContext,
  it: Found,
  { withdrawals = [], reason, mistake }: Asked,
) {
  const { kind, id } = it;
  const answer = await callApiFor(c, context, it.customer_id, {
    method: 'POST',
    path: `/v1/${kind}s/${id}/withdraw?dry_run=true&per_page=${PER_PAGE}`,
  });
  const { withdrawal, transactions } = v.parse(WithdrawalPlanView, answer);
  return sendPage(
    c,
    {
      title: `Withdraw ${kind} ${id}`,
      section: sectionOf(it),
      customerId: it.customer_id,
      isRenewed: false,
      status: mistake === undefined ? 200 : 422,
    },
    <>
      <section class="confirm">
        <h1>
          Withdraw {kind} {id} of {it.customer}?
        </h1>
        <ul>
          {consequencesOf(withdrawal).map((sentence) => (
            <li>{sentence}</li>
          ))}
        </ul>
        <form method="post" class="filters" action={c.req.path}>
          <Field label="Reason" name="reason" value={reason} hint="wrong file" most={200} mistake={mistake} />
          <button type="submit" class="danger">
            {buttonOf(it, withdrawal)}
          </button>
          <LinkButton href={originOf(it)} text="Back" />
        </form>
      </section>
      {withdrawals.length === 0 ? null : (
        <>
          <h2>It has failed before</h2>
          <Table
            caption="Withdrawals"
            columns={withdrawalColumns(new Date())}
            rows={withdrawals}
            empty="There is none."
          />
        </>
      )}
      {withdrawal.completeness.length === 0 ? null : (
        <>
          <h2>Statements before and after</h2>
          <Table
            caption="Statements before and after"
            columns={completenessColumns}
            rows={withdrawal.completeness}
            empty="None."
          />
        </>
      )}
      <h2>Movements</h2>
      <Table caption="Movements" columns={movementColumns} rows={transactions} empty="There is none." />
      {withdrawal.matched > transactions.length ? (
        <p class="calm">
          These are the first {transactions.length} of {formatCount(withdrawal.matched)}.
        </p>
      ) : null}
      {kind === 'import' ? null : (
        <p class="calm">
          The statement came with import <ImportLink id={it.import_id} />.
        </p>
      )}
    </>,
  );
}

type Plan = WithdrawalPlanView['withdrawal'];

const consequencesOf = (plan: Plan): string[] => [
  plan.withdrawn === 0
    ? 'No movement is withdrawn.'
    : `${countOf(plan.withdrawn, 'movement leaves', 'movements leave')} the listings. Webhooks for WITHDRAWN_TRANSACTION are told, and pending deliveries of them end as failed.`,
  ...(plan.kept === 0
    ? []
    : [
        `${countOf(plan.kept, 'movement is', 'movements are')} kept: another statement or another JSON import has the same.`,
      ]),
  ...(plan.is_whole ? [] : [`Only the first ${formatCount(MOST_COUNTED)} were counted.`]),
  ...(plan.statements === 0
    ? []
    : [`${countOf(plan.statements, 'statement does', 'statements do')} not count any more.`]),
  ...[describeUnlisted(plan)].filter((sentence) => sentence !== null),
  'The reason is shown with each movement that is withdrawn.',
  'This cannot be undone. The same rows are new if they are imported again.',
];

const buttonOf = ({ kind }: Withdrawable, { withdrawn, is_whole }: Plan): string =>
  withdrawn === 0
    ? `Withdraw the ${kind}`
    : `Withdraw ${is_whole ? '' : 'at least '}${countOf(withdrawn, 'movement')}`;

const completenessColumns: Column<Plan['completeness'][number]>[] = [
  {
    label: 'Account',
    cell: ({ account_id }) => <a href={`/ops/books/accounts/${account_id}`}>{account_id}</a>,
  },
  { label: 'Before', cell: ({ before }) => <Tag tone={TONES[before]}>{before}</Tag> },
  { label: 'After', cell: ({ after }) => <Tag tone={TONES[after]}>{after}</Tag> },
];

const movementColumns: Column<WithdrawalPlanView['transactions'][number]>[] = [
  { label: 'Movement', cell: ({ id }) => <MovementLink id={String(id)} /> },
  {
    label: 'Outcome',
    cell: ({ outcome }) => <Tag tone={outcome === 'withdrawn' ? 'bad' : 'calm'}>{outcome}</Tag>,
  },
  { label: 'Account', cell: ({ account_id }) => account_id },
  { label: 'Date', cell: ({ date_issue }) => date_issue },
  { label: 'Direction', cell: ({ dc }) => dc },
  {
    label: 'Amount',
    kind: 'number',
    cell: ({ amount, account }) => `${amount} ${account.currency}`,
  },
  { label: 'Description', kind: 'wide', cell: ({ description }) => description },
];
