import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import type { StoredCustomer } from '../../customers/customer-view.ts';
import { findCustomer } from '../../customers/find-customers.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { requireChunks } from '../../http/input.ts';
import { TransactionView } from '../../movements/body.ts';
import { signedAmount } from '../../movements/csv.ts';
import { parseMoment } from '../../platform/moment.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { check } from '../../platform/validation.ts';
import { Id } from '../../platform/whole-numbers.ts';
import {
  Choice,
  type Column,
  CustomerLink,
  Field,
  FilterForm,
  type Filters,
  Money,
  More,
  MovementLink,
  Notice,
  pathWith,
  Table,
  typedFilters,
} from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, requestFor } from '../page/operator.ts';
import { formatExact } from '../page/zone.ts';
import { asTyped } from './as-typed.ts';

/** The page that finds movements of a customer, and exports them as CSV. It asks the API's listing, whose rules decide. */

const PATH = '/ops/movements';

const PER_PAGE = 100;

/** The fields of the form. Except for the customer, each has the name of the API's parameter. */
const FIELDS = [
  { name: 'customer', label: 'Customer id' },
  { name: 'account', label: 'Account id', hint: '12 or 12,13' },
  { name: 'starts', label: 'First day', hint: '2026-01-01' },
  { name: 'ends', label: 'Last day', hint: '2026-01-31' },
  { name: 'amount', label: 'Amount', hint: '1250.50' },
  { name: 'amount_min', label: 'Amount from', hint: '1000' },
  { name: 'amount_max', label: 'Amount to', hint: '2000' },
  { name: 'currency', label: 'Currency', hint: 'EUR' },
  { name: 'q', label: 'Words', hint: 'parts of a name or text', most: 200 },
  { name: 'opponent_iban', label: 'IBAN of the counterparty' },
  { name: 'unique_id', label: 'unique_id', most: 255 },
  { name: 'import_id', label: 'Import id' },
] as const;

const FIELD_NAMES: readonly string[] = FIELDS.map(({ name }) => name);

/** The parameters that go to the API as they were typed. */
const PASSED_ON: readonly string[] = [...FIELD_NAMES.filter((name) => name !== 'customer'), 'dc', 'cursor'];

/** The API wants a bound. Without one in the form, all movements since this moment are listed. */
const SINCE_EVER = { after: '1970-01-01T00:00:00Z' };
const BOUNDS: readonly string[] = ['starts', 'ends', 'unique_id', 'import_id'];

/** The format of a CSV for spreadsheets whose decimal sign is a comma. */
const WITH_COMMAS = 'csv-comma';

const CSV = {
  format: 'csv',
  bom: 'true',
  columns:
    'id,date_issue,account_id,account,bank,signed_amount,currency,name,description,opponent_iban,unique_id',
};

/** The path of the API that lists what the form asks for. */
function pathOf(filters: Filters): string {
  const passedOn = Object.fromEntries(PASSED_ON.map((name) => [name, filters[name]]));
  return pathWith('/v1/transactions', {
    ...passedOn,
    ...(BOUNDS.some((name) => filters[name]) ? {} : SINCE_EVER),
    order: filters.order ?? 'newest',
    ...(filters.format === undefined ? { per_page: String(PER_PAGE) } : CSV),
    ...(filters.format === WITH_COMMAS && { decimal: 'comma', separator: 'semicolon' }),
  });
}

/** @throws {Problem} 422 with the path `customer`. */
async function requireCustomer(sql: Sql, typed: string): Promise<StoredCustomer> {
  const { customer: id } = check(v.object({ customer: Id }), { customer: typed });
  const customer = await findCustomer(sql, { id });
  if (customer === undefined) throw invalid([{ path: 'customer', message: 'does not exist' }]);
  return customer;
}

type Movement = v.InferOutput<typeof TransactionView>;

/** A page of what was found. */
interface Found {
  movements: Movement[];
  /** The cursor of the next page; null: there is none. */
  next: string | null;
  /** When the last movement that was looked at was stored; null: the search has looked at nothing, or there was no need to search. */
  searchedThrough: Date | null;
}

const Body = v.object({ transactions: v.array(TransactionView) });

async function readFound(response: Response, { zone }: ConsoleContext['runtime']['config']): Promise<Found> {
  const { transactions } = v.parse(Body, await response.json());
  const [, cursor] = /[?&]cursor=([^&>]+)/.exec(response.headers.get('link') ?? '') ?? [];
  const searched = parseMoment(response.headers.get('ledgerbell-searched-through') ?? '', zone);
  return {
    movements: transactions,
    next: cursor ?? null,
    searchedThrough: searched === null ? null : new Date(`${searched}Z`),
  };
}

/** GET /ops/movements: finds movements. With format=csv, the answer is the API's own CSV, which breaks off where that does. */
export const movementsPage = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database, config } = context.runtime;
  return new Hono<ApiEnv>().get('/', async (c) => {
    const filters = typedFilters(c);
    if (filters.customer === undefined) return send(c, { filters });
    let customer: StoredCustomer | undefined;
    try {
      customer = await requireCustomer(database, filters.customer);
      const isCsv = filters.format !== undefined;
      if (isCsv) requireChunks(c);
      const request = { method: isCsv ? c.req.method : 'GET', path: pathOf(asTyped(filters)) };
      const response = await requestFor(c, context, customer.id, request);
      if (isCsv) return response;
      return send(c, { filters, customer, found: await readFound(response, config) });
    } catch (error) {
      if (!(error instanceof Problem) || error.errors === undefined) throw error;
      return send(c, { filters, customer, mistakes: error.errors });
    }
  });
};

interface PageProps {
  filters: Filters;
  customer?: StoredCustomer | undefined;
  /** undefined: nothing was looked for. */
  found?: Found;
  mistakes?: NonNullable<Problem['errors']>;
}

function send(c: Context<ApiEnv>, { filters, customer, found, mistakes = [] }: PageProps) {
  const messages = new Map(mistakes.map(({ path, message }) => [path, message]));
  return sendPage(
    c,
    {
      title: 'Movements',
      section: 'Movements',
      customerId: customer?.id,
      isRenewed: false,
      status: mistakes.length === 0 ? 200 : 422,
    },
    <>
      <h1>
        Movements
        {customer === undefined ? null : (
          <>
            {' '}
            of <CustomerLink {...customer} />
          </>
        )}
      </h1>
      {mistakes
        .filter(({ path }) => !FIELD_NAMES.includes(path))
        .map(({ path, message }) => (
          <Notice tone="bad">
            {path} {message}
          </Notice>
        ))}
      <FilterForm further={<CsvButtons />}>
        {FIELDS.map(({ name, ...field }) => (
          <Field {...field} name={name} value={filters[name]} mistake={messages.get(name)} />
        ))}
        <Choice
          label="Direction"
          name="dc"
          value={filters.dc ?? undefined}
          choices={[['', 'both'], 'Debit', 'Credit']}
        />
        <Choice
          label="Order"
          name="order"
          value={filters.order ?? undefined}
          choices={[
            ['newest', 'newest first'],
            ['oldest', 'oldest first'],
          ]}
        />
      </FilterForm>
      {found === undefined ? (
        <p class="calm">
          {mistakes.length === 0
            ? 'Enter the id of a customer. Its page leads here too, and the search finds it by its name.'
            : 'Nothing was looked for.'}
        </p>
      ) : (
        <FoundMovements found={found} filters={filters} />
      )}
    </>,
  );
}

const CsvButtons = () => (
  <>
    <button type="submit" name="format" value="csv">
      Download CSV
    </button>
    <button type="submit" name="format" value={WITH_COMMAS}>
      CSV with decimal commas
    </button>
  </>
);

function FoundMovements({ found, filters }: { found: Found; filters: Filters }) {
  const { movements, next, searchedThrough } = found;
  // A page that is not full, and is not the last, is as far as one search goes.
  const isCut = next !== null && searchedThrough !== null && movements.length < PER_PAGE;
  return (
    <>
      <Table
        caption="Movements"
        columns={columns}
        rows={movements}
        empty={next === null ? 'There are none.' : 'None so far.'}
      />
      {isCut ? (
        <Notice tone="warn">
          The search is not over. It has looked at as many movements as one page may, and has come to those
          stored {formatExact(searchedThrough)}. A search between two days is faster.
        </Notice>
      ) : null}
      <More label={isCut ? 'Search on' : 'Next'} path={PATH} filters={filters} next={{ cursor: next }} />
    </>
  );
}

const columns: Column<Movement>[] = [
  { label: 'Movement', cell: ({ id }) => <MovementLink id={String(id)} /> },
  { label: 'Date', cell: ({ date_issue }) => date_issue },
  {
    label: 'Account',
    kind: 'wide',
    cell: ({ account: { id, title } }) => <a href={`/ops/books/accounts/${id}`}>{title}</a>,
  },
  {
    label: 'Amount',
    kind: 'number',
    cell: (it) => <Money amount={signedAmount(it)} currency={it.account.currency} />,
  },
  { label: 'Currency', cell: ({ account }) => account.currency },
  { label: 'Name', kind: 'wide', cell: ({ name }) => name ?? '' },
  { label: 'Description', kind: 'wide', cell: ({ description }) => description },
  { label: 'unique_id', kind: 'wide', cell: ({ unique_id }) => <code>{unique_id}</code> },
];
