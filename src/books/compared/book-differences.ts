import type * as v from 'valibot';
import type { Period } from '../../../packages/reconcile/src/periods.ts';
import { showAmount } from '../../../packages/statements/src/amounts.ts';
import { addDays } from '../../../packages/statements/src/values.ts';
import type { Sql } from '../../database/transaction.ts';
import type { MissingView, SurplusView } from '../books-view.ts';

/**
 * Compares the stored movements with the entries of the statements that follow each other, as multisets of direction and amount. See
 * docs/trust.md, "How a movement is recognised".
 */

/** Missing entries and surplus movements of a period. Both are empty if the stored movements are the same as the bank's. */
export interface Differences {
  missing: v.InferOutput<typeof MissingView>[];
  surplus: v.InferOutput<typeof SurplusView>[];
}

/** The most missing entries, and the most surplus movements, that are listed for a period. */
const MOST_DIFFERENCES = 1_000;

/** Entries whose movements also came with other statements. Index: repeated_entries_day. */
const FIND_REPEATED_ENTRIES = `
  SELECT r.statement_id, r.transaction_id, r.import_id, d.statement_id AS first_statement_id, t.dc, t.amount
  FROM repeated_entries r FORCE INDEX (repeated_entries_day)
  JOIN transactions t ON t.id = r.transaction_id
  LEFT JOIN transaction_details d ON d.transaction_id = r.transaction_id
  WHERE r.account_id = ? AND r.date_issue BETWEEN ? AND ?`;

/** A movement `t` with its details `d` is no entry of the statements with these ids, given twice. Index: the foreign key of repeated_entries. */
export const IS_BESIDE = `(d.statement_id IS NULL OR d.statement_id NOT IN (?))
    AND NOT EXISTS (SELECT 1 FROM repeated_entries r WHERE r.transaction_id = t.id AND r.statement_id IN (?))`;

/** Movements that are no entry of these statements. Index: transactions_account_date. */
const FIND_SURPLUS_MOVEMENTS = `
  SELECT t.id, t.dc, t.amount FROM transactions t FORCE INDEX (transactions_account_date)
  LEFT JOIN transaction_details d ON d.transaction_id = t.id
  WHERE t.account_id = ? AND t.date_issue BETWEEN ? AND ? AND ${IS_BESIDE}
  ORDER BY t.account_id, t.date_issue, t.id LIMIT ?`;

interface RepeatedRow {
  statement_id: string;
  transaction_id: string;
  import_id: string;
  first_statement_id: string | null;
  dc: 'Debit' | 'Credit';
  amount: string;
}

/** Complete periods, each without its last statement if the day of that is not over. null: nothing is left. */
export type ConfirmedPeriods = ReadonlyMap<Period, Period | null>;

/** @param periods as `readCompleteness` found them. @returns the complete ones. */
export async function confirmPeriods(
  sql: Sql,
  accountId: string,
  periods: readonly Period[],
): Promise<ConfirmedPeriods> {
  const confirmed = new Map<Period, Period | null>();
  for (const period of periods)
    if (period.status === 'complete') confirmed.set(period, await withoutOpenDay(sql, accountId, period));
  return confirmed;
}

/** Finds the differences of complete periods. Reads the movements of their days. */
export async function findDifferences(
  sql: Sql,
  account: { id: string; currency: string },
  periods: ConfirmedPeriods,
): Promise<Map<Period, Differences>> {
  const complete = [...periods.keys()];
  // Statements without entries have no movements. No statement has the id 0, so the list is never empty.
  const withEntries = complete.flatMap(({ statements }) => statements.filter(({ entries }) => entries > 0));
  const ids = ['0', ...withEntries.map(({ id }) => id)];
  const found = new Map<Period, Differences>();
  for (const [period, confirmed] of periods) {
    const missing = await findMissing(sql, account, period);
    const days =
      confirmed &&
      enclosedDays(
        confirmed,
        complete.filter((it) => it !== period),
      );
    const surplus =
      days === null
        ? []
        : await sql.query<{ id: string; dc: 'Debit' | 'Credit'; amount: string }[]>(FIND_SURPLUS_MOVEMENTS, [
            account.id,
            days.from,
            days.to,
            ids,
            ids,
            MOST_DIFFERENCES,
          ]);
    found.set(period, {
      missing: missing.slice(0, MOST_DIFFERENCES),
      surplus: surplus.map(({ id, dc, amount }) => ({
        dc,
        amount: showAmount(amount, account.currency),
        transaction_id: Number(id),
      })),
    });
  }
  return found;
}

/**
 * Statements that follow each other share no entry. If two of their entries were stored as one movement, another movement is missing. Two
 * statements that follow each other directly may also overlap, if their balances return. Then nothing is proven.
 */
async function findMissing(
  sql: Sql,
  { id: accountId, currency }: { id: string; currency: string },
  { from, to, statements }: Period,
): Promise<Differences['missing']> {
  const places = new Map(statements.map(({ id }, place) => [id, place]));
  const rows = await sql.query<RepeatedRow[]>(FIND_REPEATED_ENTRIES, [accountId, from, to]);
  const byMovement = new Map<string, { row: RepeatedRow; place: number }[]>();
  for (const row of rows) {
    const place = places.get(row.statement_id);
    if (place === undefined) continue;
    const known = byMovement.get(row.transaction_id);
    if (known === undefined) byMovement.set(row.transaction_id, [{ row, place }]);
    else known.push({ row, place });
  }
  return [...byMovement.values()].flatMap((repeated) => {
    const first = places.get(repeated[0]?.row.first_statement_id ?? '');
    return repeated
      .sort((one, other) => one.place - other.place)
      .flatMap(({ row: { dc, amount, import_id }, place }, index) => {
        // The nearest of the statements before it, and the statement that has brought the movement.
        const others = [repeated[index - 1]?.place, first].filter((it) => it !== undefined);
        const isMissing = others.length > 0 && others.every((other) => Math.abs(other - place) > 1);
        return isMissing ? [{ dc, amount: showAmount(amount, currency), import_id: Number(import_id) }] : [];
      });
  });
}

/** A file of these formats may begin and end within a day. */
const WINDOWS: readonly string[] = ['csv', 'xlsx'];

/** Whether a period begins or ends within a day, so that the bank may have booked more on that day. */
export const isWindow = ({ statements }: Period, end: 'first' | 'last'): boolean =>
  WINDOWS.includes(statements.at(end === 'first' ? 0 : -1)?.format ?? '');

/**
 * The days of a confirmed period on which the bank has booked nothing else. Leaves out days that the period shares with another period.
 * null: no day is left.
 */
function enclosedDays(confirmed: Period, others: readonly Period[]): { from: string; to: string } | null {
  let { from, to } = confirmed;
  if (isWindow(confirmed, 'first') || others.some((it) => it.to === from)) from = addDays(from, 1);
  if (isWindow(confirmed, 'last') || others.some((it) => it.from === to)) to = addDays(to, -1);
  return from > to ? null : { from, to };
}

/** Of the last day with an interim report: for each first day, the report with the most entries. Index: statements_time. */
const FIND_INTERIM_REPORTS = `
  SELECT id, from_date, to_date FROM (
    SELECT id, COALESCE(from_date, to_date) AS from_date, to_date,
      ROW_NUMBER() OVER (PARTITION BY COALESCE(from_date, to_date) ORDER BY entries DESC) AS place
    FROM statements FORCE INDEX (statements_time)
    WHERE account_id = ? AND kind = 'interim' AND to_date = (
      SELECT MAX(to_date) FROM statements FORCE INDEX (statements_time)
      WHERE account_id = ? AND kind = 'interim' AND to_date BETWEEN ? AND ?)) reports
  WHERE place = 1`;

/** Counts the entries of a statement on some days. Indexes: transactions_account_date, then the primary keys of the other tables. */
const COUNT_ENTRIES = `
  SELECT COUNT(*) AS entries FROM transactions t FORCE INDEX (transactions_account_date)
  LEFT JOIN transaction_details d ON d.transaction_id = t.id AND d.statement_id = ?
  LEFT JOIN repeated_entries r ON r.transaction_id = t.id AND r.statement_id = ?
  WHERE t.account_id = ? AND t.date_issue BETWEEN ? AND ? AND (d.transaction_id IS NOT NULL OR r.transaction_id IS NOT NULL)`;

/**
 * A period without its last statement, if an interim report has more entries of the same days. These entries are stored, but no final
 * statement has confirmed them yet. null: nothing is left.
 */
async function withoutOpenDay(sql: Sql, accountId: string, period: Period): Promise<Period | null> {
  const last = period.statements.at(-1);
  const before = period.statements.at(-2);
  if (last === undefined) return period;
  const reports = await sql.query<{ id: string; from_date: string; to_date: string }[]>(
    FIND_INTERIM_REPORTS,
    [accountId, accountId, last.from, period.to],
  );
  const countEntries = async (statementId: string, days: readonly [string, string]): Promise<number> => {
    const [row] = await sql.query<{ entries: string }[]>(COUNT_ENTRIES, [
      statementId,
      statementId,
      accountId,
      ...days,
    ]);
    return Number(row?.entries ?? 0);
  };
  let isOpen = false;
  for (const { id, from_date, to_date } of reports) {
    const days = [from_date, to_date] as const;
    isOpen ||= (await countEntries(id, days)) > (await countEntries(last.id, days));
  }
  if (!isOpen) return period;
  if (before === undefined) return null;
  return { ...period, to: before.to, closing: last.opening, statements: period.statements.slice(0, -1) };
}
