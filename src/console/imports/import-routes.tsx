import { type Context, Hono } from 'hono';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { type ImportIssue, readIssues } from '../../intake/import-view.ts';
import { findImport, type ImportRow } from '../../intake/imports.ts';
import {
  type Column,
  countOf,
  Facts,
  formatCount,
  formatDuration,
  Moment,
  Notice,
  Table,
  Tag,
} from '../page/elements.tsx';
import { sendConfirmation } from '../page/error-page.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, requireAnswer } from '../page/operator.ts';
import { DASHBOARD_PATH } from '../queues/dashboard.ts';
import { type AssumedRow, type ImportedMovement, readAssumed, readStored } from './import-rows.ts';
import { ImportStatusTag } from './imports-page.tsx';

const MOST_ISSUES = 200;
const MOST_MOVEMENTS = 20;

/** /ops/imports/:id: shows the counts, the issues and the stored movements of an import, and tries it again. */
export const importRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database } = context.runtime;
  return new Hono<ApiEnv>()
    .get('/:id', async (c) => {
      const it = await requireImport(database, c);
      const [issues, assumed, movements] = await Promise.all([
        readIssues(database, it.id, MOST_ISSUES),
        it.assumed_duplicates + it.assumed_new === 0 ? [] : readAssumed(database, it.id, MOST_ISSUES),
        readStored(database, it, MOST_MOVEMENTS),
      ]);
      return sendPage(
        c,
        { title: `Import ${it.id}`, section: 'Imports' },
        <ImportPage
          it={it}
          issues={issues}
          assumed={assumed}
          movements={movements}
          done={c.req.query('done')}
        />,
      );
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
      await requireAnswer(await callApiFor(c, context, customerId, { method: 'POST', path }));
      return c.redirect(`/ops/imports/${id}?done=retry`, 303);
    });
};

/** @throws {Problem} 404. */
const requireImport = (sql: Sql, c: Context<ApiEnv>): Promise<ImportRow> =>
  findImport(sql, null, readId(c, 'import'));

function ImportPage({
  it,
  issues,
  assumed,
  movements,
  done,
}: {
  it: ImportRow;
  issues: readonly ImportIssue[];
  assumed: readonly AssumedRow[];
  movements: readonly ImportedMovement[];
  done: string | undefined;
}) {
  const now = new Date();
  const took =
    it.finished_at === null || it.started_at === null
      ? '–'
      : formatDuration(it.finished_at.getTime() - it.started_at.getTime());
  return (
    <>
      {done === 'retry' ? (
        <Notice tone="good">The import is queued again. Reload this page to follow it.</Notice>
      ) : null}
      <h1>
        Import {it.id} of {it.customer} <ImportStatusTag status={it.status} />
      </h1>
      {it.error === null ? null : <p class="lead">{it.error}</p>}
      <nav class="actions" aria-label="What you can do">
        {it.status === 'failed' ? (
          <a class="button primary" href={`/ops/imports/${it.id}/retry`}>
            Retry
          </a>
        ) : null}
        {it.status === 'queued' || it.status === 'running' ? (
          <a class="button" href={`${DASHBOARD_PATH}/queue/imports`}>
            Queue of imports
          </a>
        ) : null}
        <a class="button" href={`/ops/imports?customer=${it.customer_id}`}>
          Imports of {it.customer}
        </a>
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
            'Sent with',
            it.source_id === null ? (
              (it.api_key ?? 'an API key that was deleted')
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
      <h2>Rejected rows and warnings</h2>
      <Table caption="Issues" columns={issueColumns} rows={issues} empty="None." />
      {it.rejected + it.warnings > issues.length && issues.length === MOST_ISSUES ? (
        <p class="calm">These are the first {MOST_ISSUES}.</p>
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
        empty={
          it.inserted === 0
            ? 'No new movement.'
            : 'Its movements are no longer found by the time of the import.'
        }
      />
      {it.inserted > movements.length && movements.length > 0 ? (
        <p class="calm">
          These are the first {movements.length} of {countOf(it.inserted, 'new movement')}.
        </p>
      ) : null}
    </>
  );
}

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
        {reason === 'assumed' ? 'the known movement' : 'a new movement,'}{' '}
        <a class="id" href={`/ops/trace?movement=${transaction_id}`}>
          {transaction_id}
        </a>
      </>
    ),
  },
  {
    label: 'Its content',
    kind: 'wide',
    cell: ({ date_issue, dc, amount, description }) =>
      `${date_issue} ${dc === 'Debit' ? '−' : '+'}${amount} ${description ?? ''}`,
  },
  {
    label: 'Stored by',
    cell: ({ import_id }) => <a href={`/ops/imports/${import_id}`}>import {import_id}</a>,
  },
];

const movementColumns: Column<ImportedMovement>[] = [
  {
    label: 'Movement',
    cell: ({ id }) => (
      <a class="id" href={`/ops/trace?movement=${id}`}>
        {id}
      </a>
    ),
  },
  { label: 'Account', cell: ({ account_id }) => account_id },
  { label: 'Date', cell: ({ date_issue }) => date_issue },
  { label: 'Direction', cell: ({ dc }) => dc },
  { label: 'Amount', kind: 'number', cell: ({ amount }) => amount },
  { label: 'Description', kind: 'wide', cell: ({ description }) => description ?? '' },
];
