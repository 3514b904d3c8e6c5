import { Hono } from 'hono';
import type { Child } from 'hono/jsx';
import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import { readNewestBalances } from '../../books/newest-balances.ts';
import type { NewestBalance } from '../../customers/account-view.ts';
import { type StoredCustomer, viewCustomer } from '../../customers/customer-view.ts';
import { requireCustomer } from '../../customers/find-customers.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { type ImportRow, listImports } from '../../intake/imports.ts';
import type { WithdrawalRow } from '../../intake/withdrawal-view.ts';
import { listWithdrawals } from '../../intake/withdrawals.ts';
import { countMovements } from '../../movements/segments.ts';
import { cutPage } from '../../platform/page.ts';
import { listSources, type SourceSummary } from '../../sources/find-source.ts';
import { sortTroubles, type Trouble } from '../../verdict/trouble.ts';
import { readWebhookTroubles, type WebhookTrouble } from '../../verdict/webhooks.ts';
import { findCustomerTroubles } from '../../verdict/work.ts';
import { readWebhooks, type WebhookRecord } from '../../webhook-record/record.ts';
import { findWebhooks } from '../../webhooks/find-webhook.ts';
import {
  accountColumns,
  type BookedAccount,
  FIRST_ACCOUNTS,
  findBookedAccounts,
} from '../books/booked-accounts.tsx';
import { importColumns } from '../imports/imports-page.tsx';
import {
  type Column,
  Facts,
  formatCount,
  LinkButton,
  Moment,
  pathWith,
  Table,
  Troubles,
  withoutCustomer,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { callerFor } from '../page/operator.ts';
import { sourceColumns } from '../sources/sources-page.tsx';
import { webhookColumns } from '../webhooks/webhooks-page.tsx';
import { withdrawalColumns } from '../withdrawals/withdrawals.tsx';

/** The page of one customer: what is wrong now, its accounts, webhooks and sources, and its newest imports. */

/** An account with what only this page shows of it. */
interface CustomerAccount extends BookedAccount {
  movements: number;
  /** undefined: the account has been deleted in the meantime. */
  newest: NewestBalance | undefined;
}

/** A list of the customer, as far as the page shows it. */
interface Listed<Row> {
  rows: Row[];
  /** null: the list has no more rows. */
  next: unknown;
}

const MOST = { accounts: 100, webhooks: 100, sources: 100, imports: 10, withdrawals: 10, troubles: 20 };

/** Reads the first accounts of a customer: what is wrong first. Asks for one account after the other, so that the page takes few connections. */
export async function readAccounts(sql: Sql, customerId: string): Promise<Listed<CustomerAccount>> {
  const place = { customerId, place: FIRST_ACCOUNTS };
  const { rows, next } = await findBookedAccounts(sql, place, MOST.accounts);
  const balances = await readNewestBalances(
    sql,
    rows.map(({ id }) => id),
  );
  const accounts: CustomerAccount[] = [];
  for (const it of rows) {
    const movements = await countMovements(sql, { customerId, accountId: it.id });
    accounts.push({ ...it, movements, newest: balances.get(it.id) });
  }
  return { rows: accounts, next };
}

/** GET /ops/customers/:id. */
export const customerPage = (runtime: Runtime): Hono<ApiEnv> => {
  const { database } = runtime;
  return new Hono<ApiEnv>().get('/:id', async (c) => {
    const customer = await requireCustomer(database, { id: readId(c, 'customer') });
    const viewer = callerFor(c, runtime, customer.id);
    const [accounts, found, sources, imports, withdrawals, troubles] = await Promise.all([
      readAccounts(database, customer.id),
      findWebhooks(database, viewer, { after: '0', limit: MOST.webhooks + 1 }),
      listSources(database, { viewer, after: '0' }, MOST.sources),
      listImports(database, { viewer, before: BEYOND_NEWEST }, MOST.imports),
      listWithdrawals(database, customer.id, BEYOND_NEWEST, MOST.withdrawals),
      findCustomerTroubles(database, customer.id, MOST.troubles),
    ]);
    const { rows, next } = cutPage(found, MOST.webhooks);
    const ids = rows.map(({ id }) => id);
    const [webhooks, webhookTroubles] = await Promise.all([
      ids.length === 0 ? [] : readWebhooks(database, ids),
      readWebhookTroubles(database, ids),
    ]);
    return sendPage(
      c,
      { title: customer.name, customerId: customer.id },
      <CustomerPage
        customer={customer}
        troubles={sortTroubles([...[...webhookTroubles.values()].flat(), ...troubles])}
        webhookTroubles={webhookTroubles}
        accounts={accounts}
        webhooks={{ rows: webhooks, next }}
        sources={sources}
        imports={imports}
        withdrawals={withdrawals.rows}
      />,
    );
  });
};

/** What a program says of its customer. */
const toldOf = (customer: StoredCustomer): [name: string, value: string][] => {
  const { external_id, metadata } = viewCustomer(customer);
  return [
    ...(external_id === null ? [] : [['External id', external_id] as [string, string]]),
    ...Object.entries(metadata),
  ];
};

interface CustomerPageProps {
  customer: StoredCustomer;
  /** The worst first. */
  troubles: readonly Trouble[];
  webhookTroubles: ReadonlyMap<string, readonly WebhookTrouble[]>;
  accounts: Listed<CustomerAccount>;
  webhooks: Listed<WebhookRecord>;
  sources: Listed<SourceSummary>;
  imports: Listed<ImportRow>;
  /** The newest. */
  withdrawals: readonly WithdrawalRow[];
}

function CustomerPage({ customer, troubles, webhookTroubles, withdrawals, ...lists }: CustomerPageProps) {
  const { accounts, webhooks, sources, imports } = lists;
  const now = new Date();
  const filters = { customer: customer.id };
  return (
    <>
      <h1>
        Customer {customer.id} “{customer.name}”
      </h1>
      <p class="calm">
        Created <Moment at={customer.created_at} now={now} />.{' '}
        {Number(customer.is_deleting) === 1 ? 'It is being deleted.' : ''}
      </p>
      <Facts facts={toldOf(customer)} />
      <nav class="actions" aria-label="What belongs to the customer">
        <LinkButton href={pathWith('/ops/movements', filters)} text="Movements" />
        <LinkButton href={pathWith('/ops/books', filters)} text="Books" />
        <LinkButton href={pathWith('/ops/webhooks', filters)} text="Webhooks" />
        <LinkButton href={pathWith('/ops/imports', filters)} text="Imports" />
        <LinkButton href={pathWith('/ops/sources', filters)} text="Sources" />
        <LinkButton href={pathWith('/ops/audit', filters)} text="Audit" />
      </nav>
      <section>
        <h2>What is wrong now</h2>
        <Troubles troubles={troubles} now={now} empty="Nothing." />
      </section>
      <ListSection
        title="Accounts"
        columns={[...withoutCustomer(accountColumns(now)), ...ownColumns]}
        list={accounts}
        all={<a href={pathWith('/ops/books', filters)}>All accounts</a>}
      />
      <ListSection
        title="Webhooks"
        columns={withoutCustomer(webhookColumns(now, webhookTroubles))}
        list={webhooks}
        all={<a href={pathWith('/ops/webhooks', filters)}>All webhooks</a>}
      />
      <ListSection
        title="Sources"
        columns={withoutCustomer(sourceColumns(now))}
        list={sources}
        all={<a href={pathWith('/ops/sources', filters)}>All sources</a>}
      />
      <ListSection
        title="Newest imports"
        columns={withoutCustomer(importColumns(now))}
        list={imports}
        all={<a href={pathWith('/ops/imports', filters)}>All imports</a>}
      />
      {withdrawals.length === 0 ? null : (
        <ListSection
          title="Newest withdrawals"
          columns={withdrawalColumns(now)}
          list={{ rows: [...withdrawals], next: null }}
          all={null}
        />
      )}
    </>
  );
}

/** The beginning of a list of the customer. @param all the link to the whole list, which is shown if the list goes on. */
const ListSection = <Row,>({ title, columns, list, all }: ListSectionProps<Row>) => (
  <section>
    <h2>{title}</h2>
    <Table caption={title} columns={columns} rows={list.rows} empty="There are none." />
    {list.next === null ? null : <p class="more">{all}</p>}
  </section>
);

interface ListSectionProps<Row> {
  title: string;
  columns: Column<Row>[];
  list: Listed<Row>;
  all: Child;
}

const ownColumns: Column<CustomerAccount>[] = [
  { label: 'Movements', kind: 'number', cell: ({ movements }) => formatCount(movements) },
  {
    label: 'Balance',
    kind: 'number',
    cell: ({ newest, currency }) => (newest?.balance == null ? '–' : formatAmount(newest.balance, currency)),
  },
];
