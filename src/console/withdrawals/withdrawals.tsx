import type { Sql } from '../../database/transaction.ts';
import type { WithdrawalRow } from '../../intake/withdrawal-view.ts';
import { type Column, formatCount, ImportLink, LinkButton, Moment, Tag } from '../page/elements.tsx';

/** Parts of the console's pages about withdrawals. */

/** The import or the statement that is withdrawn. */
export interface Withdrawable {
  kind: 'import' | 'statement';
  id: string;
}

/** The page that shows what would be withdrawn, or the withdrawal. */
export const withdrawPath = ({ kind, id }: Withdrawable): string => `/ops/${kind}s/${id}/withdraw`;

/** Leads to the page that asks whether something is withdrawn. @param text what the button says. */
export const WithdrawButton = ({ text, ...it }: Withdrawable & { text: string }) => (
  <LinkButton href={withdrawPath(it)} text={text} />
);

const MOST_WITHDRAWALS = 100;

/** Index: withdrawals_subject. */
const READ_OF_IMPORT = `
  SELECT id, customer_id, import_id, statement_id, reason, status, withdrawn, kept, created_at, finished_at
  FROM withdrawals WHERE import_id = ? ORDER BY statement_id LIMIT ${MOST_WITHDRAWALS}`;

/** Reads the withdrawals of an import and of its statements: that of the whole import first. */
export const readWithdrawalsOf = (sql: Sql, importId: string): Promise<WithdrawalRow[]> =>
  sql.query(READ_OF_IMPORT, [importId]);

const TONES = { queued: 'warn', running: 'warn', done: 'good', failed: 'bad' } as const;

/** The columns of every table of withdrawals. */
export const withdrawalColumns = (now: Date): Column<WithdrawalRow>[] => [
  {
    label: 'Withdrawn',
    cell: ({ import_id, statement_id }) =>
      statement_id === '0' ? (
        <a href={withdrawPath({ kind: 'import', id: import_id })}>import {import_id}</a>
      ) : (
        <>
          <a href={withdrawPath({ kind: 'statement', id: statement_id })}>statement {statement_id}</a> of
          import <ImportLink id={import_id} />
        </>
      ),
  },
  { label: 'Status', cell: ({ status }) => <Tag tone={TONES[status]}>{status}</Tag> },
  { label: 'Movements', kind: 'number', cell: ({ withdrawn }) => formatCount(withdrawn) },
  { label: 'Kept', kind: 'number', cell: ({ kept }) => formatCount(kept) },
  { label: 'Reason', kind: 'wide', cell: ({ reason }) => reason },
  { label: 'Requested', cell: ({ created_at }) => <Moment at={created_at} now={now} /> },
  { label: 'Finished', cell: ({ finished_at }) => <Moment at={finished_at} now={now} /> },
];
