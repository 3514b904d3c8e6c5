import { setImmediate as nextPass } from 'node:timers/promises';
import type * as v from 'valibot';
import {
  type ChainStatement,
  type Completeness,
  findBegunWithin,
  type Period,
  placeOf,
  summarisePeriods,
} from '../../packages/reconcile/src/periods.ts';
import { formatAmount, parseThousandths, showAmount } from '../../packages/statements/src/amounts.ts';
import type { Sql } from '../database/transaction.ts';
import type { StatementRecord } from '../intake/statements.ts';
import { Problem } from '../platform/problem.ts';
import { formatCount } from '../platform/text.ts';
import type { StatementView } from './books-view.ts';
import { findPeriodsOf } from './periods/find-periods.ts';

/** The statements of an account, and whether they are complete. */

const COLUMNS = `
  id, import_id, line, kind, number, sequence, from_date, to_date, opening_balance, closing_balance, opening_balance_date, closing_balance_date, difference,
  entries, received_at`;
/** Index: statements_page. */
const READ_STATEMENTS_PAGE = `
  SELECT ${COLUMNS} FROM statements FORCE INDEX (statements_page) WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?`;

/** Finds statements of an account below an id, the newest first. */
export const findStatements = (
  sql: Sql,
  accountId: string,
  { before, limit }: { before: string; limit: number },
): Promise<StatementRecord[]> => sql.query(READ_STATEMENTS_PAGE, [accountId, before, limit]);

const show = (amount: string | null, currency: string): string | null =>
  amount === null ? null : showAmount(amount, currency);

export const viewStatement = (
  row: StatementRecord,
  currency: string,
): v.InferOutput<typeof StatementView> => ({
  id: Number(row.id),
  number: row.number,
  sequence: row.sequence,
  from: row.from_date,
  to: row.to_date,
  opening_balance: show(row.opening_balance, currency),
  closing_balance: show(row.closing_balance, currency),
  opening_balance_date: row.opening_balance_date,
  closing_balance_date: row.closing_balance_date,
  currency,
  difference: show(row.difference, currency),
  entries: row.entries,
  kind: row.kind,
  import_id: Number(row.import_id),
  line: row.line,
  received_at: row.received_at.toISOString(),
});

export const viewPeriod = ({ from, to, status, opening, closing, difference }: Period, currency: string) => ({
  from,
  to,
  status,
  opening_balance: formatAmount(opening, currency),
  closing_balance: formatAmount(closing, currency),
  difference: formatAmount(difference, currency),
});

type ChainRow = StatementRecord & Record<'from_date' | 'to_date' | 'format' | 'credits' | 'debits', string>;

/** Index: statements_time. Ten years of daily statements are 2,500 rows. */
const READ_CHAIN = `
  SELECT id, format, number, sequence, from_date, to_date, opening_balance, closing_balance, difference, credits, debits, entries
  FROM statements FORCE INDEX (statements_time)
  WHERE account_id = ? AND kind = 'final' AND from_date IS NOT NULL AND to_date IS NOT NULL AND opening_balance IS NOT NULL
    AND closing_balance IS NOT NULL
  ORDER BY account_id, kind, to_date, id LIMIT ?`;

/** Entries of some days whose movements also came with other statements. Indexes: repeated_entries_day, then the primary key. */
const READ_REPEATED_ENTRIES = `
  SELECT r.transaction_id, r.statement_id, d.statement_id AS first_statement_id
  FROM repeated_entries r FORCE INDEX (repeated_entries_day)
  LEFT JOIN transaction_details d ON d.transaction_id = r.transaction_id
  WHERE r.account_id = ? AND r.date_issue IN (?) LIMIT ?`;

/** More statements, or more of their repeated entries, are not compared. */
const [MOST_STATEMENTS, MOST_REPEATED] = [100_000, 200_000];

/** How many rows are read in one pass of the event loop. */
const ROWS_PER_PASS = 1_000;

/** Index: the primary key. */
const READ_STATEMENT_NUMBERS = 'SELECT statement_numbers FROM accounts WHERE id = ?';

/**
 * Reads the periods of an account that touch a range of days.
 * @param between days (YYYY-MM-DD). null: from the first day, or to the last day.
 * @param without ids of statements that are left out.
 * @throws {Problem} like findPeriodsOf.
 */
export async function readCompleteness(
  sql: Sql,
  accountId: string,
  between: { from: string | null; to: string | null } = { from: null, to: null },
  without: ReadonlySet<string> = new Set(),
): Promise<{ status: Completeness; periods: Period[] }> {
  const found = await sql.query<ChainRow[]>(READ_CHAIN, [accountId, MOST_STATEMENTS + 1]);
  const rows = found.filter(({ id }) => !without.has(id));
  if (found.length > MOST_STATEMENTS) throw tooMany(MOST_STATEMENTS, 'final statements');
  const [account] = await sql.query<{ statement_numbers: string }[]>(READ_STATEMENT_NUMBERS, [accountId]);
  const areNumbersUsed = account?.statement_numbers !== 'ignore';
  const statements: ChainStatement[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % ROWS_PER_PASS === ROWS_PER_PASS - 1) await nextPass();
    statements.push({
      id: row.id,
      from: row.from_date < row.to_date ? row.from_date : row.to_date,
      to: row.to_date,
      opening: parseThousandths(row.opening_balance ?? '0'),
      closing: parseThousandths(row.closing_balance ?? '0'),
      kind: 'final',
      number: areNumbersUsed ? row.number : null,
      place: placeOf(row.number),
      sequence: areNumbersUsed ? row.sequence : null,
      format: row.format,
      credits: parseThousandths(row.credits),
      debits: parseThousandths(row.debits),
      difference: row.difference === null ? null : parseThousandths(row.difference),
      entries: row.entries,
      beginsWithin: false,
      repeated: new Set(),
    });
  }
  await readRepeated(sql, accountId, statements);
  const { from, to } = between;
  const periods = (await findPeriodsOf(accountId, statements)).filter(
    (period) => (from === null || period.to >= from) && (to === null || period.from <= to),
  );
  return { status: summarisePeriods(periods), periods };
}

/** Fills `beginsWithin` and `repeated` where they decide which statement follows which. */
async function readRepeated(sql: Sql, accountId: string, statements: ChainStatement[]): Promise<void> {
  const begun = findBegunWithin(statements);
  if (begun.length === 0) return;
  for (const it of begun) it.beginsWithin = true;
  const days = new Set(begun.map(({ from }) => from));
  const rows = await sql.query<
    { transaction_id: string; statement_id: string; first_statement_id: string | null }[]
  >(READ_REPEATED_ENTRIES, [accountId, [...days], MOST_REPEATED + 1]);
  if (rows.length > MOST_REPEATED) throw tooMany(MOST_REPEATED, 'repeated entries');
  const repeated = new Map(statements.map(({ id }) => [id, new Set<string>()]));
  for (const [index, { transaction_id, statement_id, first_statement_id }] of rows.entries()) {
    if (index % ROWS_PER_PASS === ROWS_PER_PASS - 1) await nextPass();
    for (const id of [statement_id, first_statement_id]) repeated.get(id ?? '')?.add(transaction_id);
  }
  for (const it of statements) it.repeated = repeated.get(it.id) ?? it.repeated;
}

/** The statements of an account are not compared, now or later. */
export class TooManyStatementsError extends Problem {}

const tooMany = (most: number, what: string) =>
  new TooManyStatementsError(
    'overloaded',
    `The account has more than ${formatCount(most)} ${what} to compare. They are not compared.`,
  );
