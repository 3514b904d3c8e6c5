import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { showAmount } from '../../../packages/statements/src/amounts.ts';
import { findGapsBefore } from '../../books/import-gaps.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { MAX_CRASHES } from '../../intake/failed-imports.ts';
import { findImportFiles, type ImportFile, type ImportIssue, readIssues } from '../../intake/import-view.ts';
import {
  findImport,
  firstImportAt,
  IMPORT_STATUSES,
  type ImportRow,
  type ImportStatus,
  listImports,
} from '../../intake/imports.ts';
import type { WithdrawalRow } from '../../intake/withdrawal-view.ts';
import { Moment as MomentText } from '../../platform/moment.ts';
import { notFound } from '../../platform/problem.ts';
import { Id } from '../../platform/whole-numbers.ts';
import {
  Choice,
  type Column,
  CustomerLink,
  countOf,
  customerColumn,
  Done,
  Facts,
  Field,
  FilterForm,
  formatCount,
  formatDuration,
  ImportLink,
  LinkButton,
  Moment,
  Money,
  More,
  MovementLink,
  PeriodFields,
  pathWith,
  readFilters,
  Table,
  Tag,
} from '../page/elements.tsx';
import { sendConfirmation, sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, callerFor } from '../page/operator.ts';
import { DASHBOARD_PATH } from '../queues/dashboard.ts';
import {
  readWithdrawalsOf,
  WithdrawButton,
  withdrawalColumns,
  withdrawPath,
} from '../withdrawals/withdrawals.tsx';

/** The pages of the console that list imports, and show one with its movements and duplicates. */

export interface ImportedMovement {
  id: string;
  account_id: string;
  dc: string;
  amount: string;
  currency: string;
  description: string | null;
  date_issue: string;
}

/** The most index entries that are looked at. Other imports of the customer may be stored at the same time. */
const LOOKED_AT = 5_000;

/**
 * Index: transactions_readed, between the first and the last movement of the import, because no index holds its movements. The order of
 * the joins is fixed: MySQL would begin with an account that has most movements, and read them all.
 */
const READ_STORED_MOVEMENTS = `
  SELECT t.id, t.account_id, t.dc, t.amount, a.currency, t.description, t.date_issue FROM (
    SELECT id FROM transactions FORCE INDEX (transactions_readed)
    WHERE customer_id = ? AND date_readed >= (SELECT first_readed FROM imports WHERE id = ?)
      AND date_readed <= (SELECT last_readed FROM imports WHERE id = ?)
    ORDER BY date_readed, id LIMIT ${LOOKED_AT}) n
  STRAIGHT_JOIN transactions t ON t.id = n.id STRAIGHT_JOIN accounts a ON a.id = t.account_id
  WHERE t.import_id = ? ORDER BY t.id LIMIT ?`;

/** Reads the first movements that an import has stored. */
export const readStored = (
  sql: Sql,
  { id, customer_id }: Pick<ImportRow, 'id' | 'customer_id'>,
  limit: number,
): Promise<ImportedMovement[]> => sql.query(READ_STORED_MOVEMENTS, [customer_id, id, id, id, limit]);

/** A row that was assumed to be a known or a new movement without proof, with that movement. */
export interface AssumedRow {
  line: number;
  reason: 'assumed' | 'assumed_new';
  transaction_id: string;
  dc: 'Debit' | 'Credit';
  amount: string;
  currency: string;
  date_issue: string;
  description: string | null;
  import_id: string;
}

/** Indexes: import_duplicates_import, of which an import has at most 10,000, and the primary key. */
const READ_ASSUMED_DUPLICATES = `
  SELECT d.line, d.reason, d.transaction_id, t.dc, t.amount, a.currency, t.date_issue, t.description, t.import_id
  FROM import_duplicates d STRAIGHT_JOIN transactions t ON t.id = d.transaction_id STRAIGHT_JOIN accounts a ON a.id = t.account_id
  WHERE d.import_id = ? AND d.reason IN ('assumed', 'assumed_new') ORDER BY d.id LIMIT ?`;

export const readAssumed = (sql: Sql, importId: string, limit: number): Promise<AssumedRow[]> =>
  sql.query<AssumedRow[]>(READ_ASSUMED_DUPLICATES, [importId, limit]);

/** Index: the primary key. */
const READ_STATEMENTS = 'SELECT id FROM statements WHERE id IN (?) ORDER BY id';

/** Reads the ids of the statements that statements of an import contradict, without those that were withdrawn since. */
async function readContradicted(sql: Sql, { contradicts }: ImportRow): Promise<string[]> {
  if (contradicts === null) return [];
  const rows = await sql.query<{ id: string }[]>(READ_STATEMENTS, [
    v.parse(v.array(v.number()), JSON.parse(contradicts)),
  ]);
  return rows.map(({ id }) => id);
}

const PER_PAGE = 50;

/** GET /ops/imports: the imports of all customers, newest first. */
export const importsPage = (runtime: Runtime): Hono<ApiEnv> => {
  const { database, config } = runtime;
  const moment = v.optional(MomentText(config.zone));
  const Query = v.object({
    id: v.optional(Id),
    customer: v.optional(Id),
    account: v.optional(Id),
    status: v.optional(v.picklist(IMPORT_STATUSES)),
    since: moment,
    until: moment,
    before: v.optional(Id),
  });
  return new Hono<ApiEnv>().get('/', async (c) => {
    const { id, customer, account, status, since, until, before } = readFilters(c, Query);
    if (id !== undefined) return c.redirect(`/ops/imports/${id}`);
    const end = until === undefined ? BEYOND_NEWEST : await firstImportAt(database, until);
    const { rows, next } = await listImports(
      database,
      {
        viewer: customer === undefined ? null : callerFor(c, runtime, customer),
        status,
        accountId: account,
        before: before !== undefined && BigInt(before) < BigInt(end) ? before : end,
        from: since === undefined ? '1' : await firstImportAt(database, since),
      },
      PER_PAGE,
    );
    const query = c.req.query();
    return sendPage(
      c,
      { title: 'Imports', section: 'Imports' },
      <>
        <h1>Imports</h1>
        <FilterForm>
          <Field label="Import id" name="id" value="" />
          <Field label="Customer id" name="customer" value={customer} />
          <Field label="Account id" name="account" value={account} />
          <Choice label="Status" name="status" value={status} choices={[['', 'all'], ...IMPORT_STATUSES]} />
          <PeriodFields since="Received since" until="Received before" filters={query} />
        </FilterForm>
        <Table
          caption="Imports"
          columns={importColumns(new Date())}
          rows={rows}
          empty={next === null ? 'There are none.' : 'None among the newest. There may be older ones.'}
        />
        <More label="Older imports" path="/ops/imports" filters={query} next={{ before: next }} />
      </>,
    );
  });
};

const TONES = { queued: 'warn', running: 'warn', done: 'good', failed: 'bad' } as const;

export const ImportStatusTag = ({ status }: { status: ImportStatus }) => (
  <Tag tone={TONES[status]}>{status}</Tag>
);

/** The columns of every table of imports. */
export const importColumns = (now: Date): Column<ImportRow>[] => [
  {
    label: 'Import',
    cell: ({ id }) => <ImportLink id={id} />,
  },
  { label: 'Status', cell: ({ status }) => <ImportStatusTag status={status} /> },
  customerColumn(),
  { label: 'Format', cell: ({ detected_format, format }) => detected_format ?? format },
  { label: 'Received', cell: ({ received_at }) => <Moment at={received_at} now={now} /> },
  {
    label: 'Rows',
    kind: 'number',
    cell: ({ received }) => (received === null ? '–' : formatCount(received)),
  },
  { label: 'New', kind: 'number', cell: ({ inserted }) => formatCount(inserted) },
  { label: 'Known', kind: 'number', cell: ({ duplicates }) => formatCount(duplicates) },
  { label: 'Rejected', kind: 'number', cell: ({ rejected }) => formatCount(rejected) },
  { label: 'Statements', kind: 'number', cell: ({ statements }) => formatCount(statements) },
  { label: 'Warnings', kind: 'number', cell: ({ warnings }) => formatCount(warnings) },
  { label: 'Deliveries', kind: 'number', cell: ({ deliveries }) => formatCount(deliveries) },
  { label: 'Error', kind: 'wide', cell: ({ error }) => error ?? '' },
];

const MOST_ISSUES = 200;
const MOST_MOVEMENTS = 20;

/** /ops/imports/:id: shows the counts, the issues and the stored movements of an import, and tries it again. */
export const importRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database } = context.runtime;
  return new Hono<ApiEnv>()
    .get('/:id', async (c) => {
      const it = await requireImport(database, c);
      const [gaps, files, issues, assumed, movements, withdrawals, contradicted] = await Promise.all([
        it.status === 'done' ? findGapsBefore(database, it.id) : [],
        findImportFiles(database, it.id),
        readIssues(database, it.id, MOST_ISSUES),
        it.assumed_duplicates + it.assumed_new === 0 ? [] : readAssumed(database, it.id, MOST_ISSUES),
        readStored(database, it, MOST_MOVEMENTS),
        readWithdrawalsOf(database, it.id),
        readContradicted(database, it),
      ]);
      return sendPage(
        c,
        { title: `Import ${it.id}`, section: 'Imports', customerId: it.customer_id },
        <ImportPage
          it={it}
          gaps={gaps}
          files={files}
          issues={issues}
          assumed={assumed}
          movements={movements}
          withdrawals={withdrawals}
          contradicted={contradicted}
          done={c.req.query('done')}
        />,
      );
    })
    .get('/:id/collect-again', async (c) => {
      const it = await requireCollected(database, c);
      return sendConfirmation(c, 'Imports', {
        question: `Collect the file of import ${it.id} of ${it.customer} again?`,
        consequences: [
          `Source ${it.source_id} runs now, and imports the file as the source is set now.`,
          'If the file is not where the source has put it, the error of the run says so.',
        ],
        button: 'Collect the file again',
        back: `/ops/imports/${it.id}`,
      });
    })
    .post('/:id/collect-again', async (c) => {
      const { id, source_id: source, customer_id: customerId } = await requireCollected(database, c);
      const path = `/v1/sources/${source}/collect-again`;
      await callApiFor(c, context, customerId, { method: 'POST', path, body: { import_id: id } });
      return c.redirect(`/ops/sources/${source}?done=collect-again`, 303);
    })
    .get('/:id/retry', async (c) => {
      const it = await requireImport(database, c);
      return sendConfirmation(c, 'Imports', {
        question: `Retry import ${it.id} of ${it.customer}?`,
        consequences: [
          `It continues after row ${formatCount(it.checkpoint)}. Nothing is stored twice.`,
          'The same file usually fails for the same reason. Retry after its cause is gone, or ask the sender for a corrected file.',
        ],
        button: 'Retry the import',
        back: `/ops/imports/${it.id}`,
      });
    })
    .post('/:id/retry', async (c) => {
      const { id, customer_id: customerId } = await requireImport(database, c);
      const path = `/v1/imports/${id}/retry`;
      await callApiFor(c, context, customerId, { method: 'POST', path });
      return c.redirect(`/ops/imports/${id}?done=retry`, 303);
    });
};

/** @throws {Problem} 404. */
const requireImport = (sql: Sql, c: Context<ApiEnv>): Promise<ImportRow> =>
  findImport(sql, null, readId(c, 'import'));

/** An import that a source has collected. @throws {Problem} 404. */
async function requireCollected(sql: Sql, c: Context<ApiEnv>): Promise<ImportRow & { source_id: string }> {
  const it = await requireImport(sql, c);
  if (it.source_id === null) throw notFound('import');
  return { ...it, source_id: it.source_id };
}

interface ImportPageProps {
  it: ImportRow;
  gaps: Awaited<ReturnType<typeof findGapsBefore>>;
  /** Of a zip. */
  files: readonly ImportFile[];
  issues: readonly ImportIssue[];
  assumed: readonly AssumedRow[];
  movements: readonly ImportedMovement[];
  /** Of the import and of its statements. */
  withdrawals: readonly WithdrawalRow[];
  /** The ids of the statements that statements of the import contradict. */
  contradicted: readonly string[];
  done: string | undefined;
}

function ImportPage({
  it,
  gaps,
  files,
  issues,
  assumed,
  movements,
  withdrawals,
  contradicted,
  done,
}: ImportPageProps) {
  const now = new Date();
  const took =
    it.finished_at === null || it.started_at === null
      ? '–'
      : formatDuration(it.finished_at.getTime() - it.started_at.getTime());
  return (
    <>
      <Done done={done} messages={{ retry: 'The import is queued again. Reload this page to follow it.' }} />
      <h1>
        Import {it.id} of <CustomerLink id={it.customer_id} name={it.customer} />{' '}
        <ImportStatusTag status={it.status} />
      </h1>
      {it.error === null ? null : <p class="lead">{it.error}</p>}
      {gaps.map(({ account_id, from, to, difference, currency }) => (
        <p class="lead">
          A statement is missing before this one: {difference} {currency} of{' '}
          <a href={`/ops/books/accounts/${account_id}`}>account {account_id}</a>, {from} to {to}.
        </p>
      ))}
      {contradicted.map((id) => (
        <p class="lead">
          A statement of it contradicts statement {id}. If it replaces it,{' '}
          <a href={withdrawPath({ kind: 'statement', id })}>withdraw statement {id}</a>.
        </p>
      ))}
      <nav class="actions" aria-label="What you can do">
        {it.status === 'failed' ? (
          // A file that cannot be read fails again.
          <LinkButton
            primary={it.crash_count >= MAX_CRASHES}
            href={`/ops/imports/${it.id}/retry`}
            text="Retry"
          />
        ) : null}
        {it.status === 'queued' || it.status === 'running' ? (
          <LinkButton href={`${DASHBOARD_PATH}/queue/imports`} text="Queue of imports" />
        ) : null}
        <LinkButton
          href={pathWith('/ops/movements', { customer: it.customer_id, import_id: it.id })}
          text="Its movements"
        />
        <LinkButton href={`/ops/imports?customer=${it.customer_id}`} text={`Imports of ${it.customer}`} />
        {mayBeCollectedAgain(it, withdrawals) ? (
          <LinkButton href={`/ops/imports/${it.id}/collect-again`} text="Collect again" />
        ) : null}
        {mayBeWithdrawn(it, withdrawals) ? <WithdrawButton kind="import" id={it.id} text="Withdraw" /> : null}
      </nav>
      <Facts
        facts={[
          ['Rows received', it.received === null ? 'not read to the end' : formatCount(it.received)],
          ['Rows read so far', formatCount(it.checkpoint)],
          ['New movements', formatCount(it.inserted)],
          ['Known already', formatCount(it.duplicates)],
          ['Known with another text', formatCount(it.changed)],
          ['Assumed to be known', formatCount(it.assumed_duplicates)],
          ['Assumed to be new', formatCount(it.assumed_new)],
          ['Conflicts', it.conflicts === 0 ? '0' : <a href="/ops/books">{formatCount(it.conflicts)}</a>],
          ['Rejected rows', formatCount(it.rejected)],
          ['Warnings', formatCount(it.warnings)],
          ['Deliveries caused', formatCount(it.deliveries)],
          [
            'Format',
            `${it.detected_format ?? it.format}${it.profile === null ? '' : `, profile ${it.profile}`}`,
          ],
          ['Statements', formatCount(it.statements)],
          [
            'Sent by',
            it.source_id === null ? (
              (it.sender ?? 'an API key that was deleted')
            ) : (
              <a href={`/ops/sources/${it.source_id}`}>source {it.source_id}</a>
            ),
          ],
          ['Received', <Moment at={it.received_at} now={now} />],
          ['Finished', <Moment at={it.finished_at} now={now} />],
          ['Took', took],
          ['Crashes in a row', formatCount(it.crash_count)],
        ]}
      />
      {withdrawals.length === 0 ? null : (
        <>
          <h2>Withdrawals</h2>
          <Table caption="Withdrawals" columns={withdrawalColumns(now)} rows={withdrawals} empty="None." />
        </>
      )}
      {files.length === 0 ? null : (
        <>
          <h2>Files of the zip</h2>
          <Table caption="Files" columns={fileColumns} rows={files} empty="None." />
        </>
      )}
      <h2>Rejected rows and warnings</h2>
      <Table caption="Issues" columns={issueColumns} rows={issues} empty="None." />
      {it.rejected + it.warnings > issues.length && issues.length >= MOST_ISSUES ? (
        <p class="calm">At most the first {MOST_ISSUES} of each are shown.</p>
      ) : null}
      {assumed.length === 0 ? null : (
        <>
          <h2>Rows that may be another movement, or a known one</h2>
          <p class="lead">Nothing in the file proves which of the two each of these is.</p>
          <Table caption="Assumed rows" columns={assumedColumns} rows={assumed} empty="None." />
          {assumed.length === MOST_ISSUES ? <p class="calm">These are the first {MOST_ISSUES}.</p> : null}
        </>
      )}
      <h2>What it stored</h2>
      <Table
        caption="Movements"
        columns={movementColumns}
        rows={movements}
        empty={it.inserted === 0 ? 'No new movement.' : 'None is stored any more.'}
      />
      {it.inserted > movements.length && movements.length > 0 ? (
        <p class="calm">
          These are the first {movements.length} of {countOf(it.inserted, 'new movement')}.
        </p>
      ) : null}
    </>
  );
}

/** A withdrawal that has failed may be requested again. */
const mayBeWithdrawn = ({ status }: ImportRow, withdrawals: readonly WithdrawalRow[]): boolean =>
  (status === 'done' || status === 'failed') &&
  !withdrawals.some((it) => it.statement_id === '0' && it.status !== 'failed');

/** A source has collected it, and it was withdrawn as a whole. */
const mayBeCollectedAgain = ({ source_id }: ImportRow, withdrawals: readonly WithdrawalRow[]): boolean =>
  source_id !== null && withdrawals.some((it) => it.statement_id === '0' && it.status === 'done');

const FILE_TONES = { read: 'good', skipped: 'warn', failed: 'bad' } as const;

const fileColumns: Column<ImportFile>[] = [
  { label: 'File', cell: ({ name }) => <code>{name}</code> },
  { label: 'Outcome', cell: ({ outcome }) => <Tag tone={FILE_TONES[outcome]}>{outcome}</Tag> },
  { label: 'Format', cell: ({ format }) => format ?? '–' },
  { label: 'Statements', kind: 'number', cell: ({ statements }) => formatCount(statements) },
  { label: 'Entries', kind: 'number', cell: ({ entries }) => formatCount(entries) },
  { label: 'Why', kind: 'wide', cell: ({ message }) => message ?? '' },
];

const issueColumns: Column<ImportIssue>[] = [
  { label: 'Line', kind: 'number', cell: ({ line }) => line },
  {
    label: 'Kind',
    cell: ({ severity }) =>
      severity === 'error' ? <Tag tone="bad">rejected</Tag> : <Tag tone="warn">warning</Tag>,
  },
  { label: 'Field', cell: ({ path }) => <code>{path}</code> },
  { label: 'What is wrong', kind: 'wide', cell: ({ message }) => message },
];

const assumedColumns: Column<AssumedRow>[] = [
  { label: 'Line', kind: 'number', cell: ({ line }) => line },
  {
    label: 'Taken for',
    cell: ({ reason, transaction_id }) => (
      <>
        {reason === 'assumed' ? 'the known movement' : 'a new movement,'} <MovementLink id={transaction_id} />
      </>
    ),
  },
  {
    label: 'Its content',
    kind: 'wide',
    cell: ({ date_issue, dc, amount, currency, description }) =>
      `${date_issue} ${dc === 'Debit' ? '−' : '+'}${showAmount(amount, currency)} ${description ?? ''}`,
  },
  {
    label: 'Stored by',
    cell: ({ import_id }) => <a href={`/ops/imports/${import_id}`}>import {import_id}</a>,
  },
];

const movementColumns: Column<ImportedMovement>[] = [
  {
    label: 'Movement',
    cell: ({ id }) => <MovementLink id={id} />,
  },
  { label: 'Account', cell: ({ account_id }) => account_id },
  { label: 'Date', cell: ({ date_issue }) => date_issue },
  { label: 'Direction', cell: ({ dc }) => dc },
  {
    label: 'Amount',
    kind: 'number',
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  { label: 'Description', kind: 'wide', cell: ({ description }) => description ?? '' },
];
