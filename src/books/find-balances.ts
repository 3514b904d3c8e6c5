import type * as v from 'valibot';
import { formatAmount, parseThousandths } from '../../packages/statements/src/amounts.ts';
import { addDays } from '../../packages/statements/src/values.ts';
import type { Sql } from '../database/transaction.ts';
import type { BalanceView } from './books-view.ts';

/** The balances of an account at the end of its days. */

/** The balance at the end of a day. */
interface DayBalance extends BalanceStep {
  date: string;
  source: 'statement' | 'movement';
  importId: string;
}

export const viewBalance = (
  { id, date, closing, source, importId }: DayBalance,
  currency: string,
): v.InferOutput<typeof BalanceView> => ({
  date,
  balance: formatAmount(closing, currency),
  currency,
  source,
  statement_id: source === 'statement' ? Number(id) : null,
  transaction_id: source === 'movement' ? Number(id) : null,
  import_id: Number(importId),
});

/** The most rows of each kind that are read for one page. */
const MOST_READ = 5_000;

/** Index: statements_time, read backwards. */
const READ_STATEMENT_BALANCES = `
  SELECT id, import_id, to_date AS date, opening_balance, closing_balance, entries FROM statements FORCE INDEX (statements_time)
  WHERE account_id = ? AND kind = ? AND to_date BETWEEN ? AND ? AND closing_balance IS NOT NULL
  ORDER BY account_id DESC, kind DESC, to_date DESC, id DESC LIMIT ?`;

/** Index: transactions_account_date, read backwards. */
const READ_MOVEMENT_BALANCES = `
  SELECT id, import_id, date_issue AS date, IF(dc = 'Credit', balance - amount, balance + amount) AS opening_balance,
    balance AS closing_balance, 1 AS entries
  FROM transactions FORCE INDEX (transactions_account_date) WHERE account_id = ? AND date_issue BETWEEN ? AND ?
  ORDER BY account_id DESC, date_issue DESC, id DESC LIMIT ?`;

interface Row {
  id: string;
  import_id: string;
  date: string;
  opening_balance: string | null;
  closing_balance: string | null;
  entries: number | string;
}

/** Days (YYYY-MM-DD), both inclusive. */
interface DayRange {
  from: string;
  to: string;
}

/** All days that MySQL supports. */
export const EVER: DayRange = { from: '1000-01-01', to: '9999-12-31' };

const readStatements = (
  sql: Sql,
  accountId: string,
  kind: 'final' | 'interim',
  { from, to }: DayRange,
  limit: number,
) => sql.query<Row[]>(READ_STATEMENT_BALANCES, [accountId, kind, from, to, limit]);

const toBalances = (rows: readonly Row[], source: DayBalance['source']): DayBalance[] =>
  rows.flatMap(({ id, import_id, date, opening_balance, closing_balance, entries }) =>
    closing_balance === null
      ? []
      : [
          {
            id,
            date,
            source,
            importId: import_id,
            opening: opening_balance === null ? null : parseThousandths(opening_balance),
            closing: parseThousandths(closing_balance),
            entries: Number(entries),
          },
        ],
  );

/**
 * If the limit of rows was reached, leaves out the last day, because it may be incomplete. If there is only one day, it stays.
 * @returns the other rows, and the day at which reading must continue; null: all rows were read.
 */
function cutLastDay(rows: Row[]): { rows: Row[]; unread: string | null } {
  const last = rows.at(-1);
  if (last === undefined || rows.length < MOST_READ) return { rows, unread: null };
  const whole = rows.filter(({ date }) => date > last.date);
  return whole.length > 0 ? { rows: whole, unread: last.date } : { rows, unread: addDays(last.date, -1) };
}

/**
 * Reads the balances of an account, the last day first. Days without a known balance have none.
 * @param account `balance` null: none of its movements has a balance.
 * @returns a page, and the day at which the next page begins, or null. If there are very many rows, a page may be shorter than `perPage`.
 */
export async function readBalances(
  sql: Sql,
  account: { id: string; balance: string | null },
  range: DayRange,
  perPage: number,
): Promise<{ balances: DayBalance[]; next: string | null }> {
  const { from, to } = range;
  const [final, interim, movements] = await Promise.all([
    readStatements(sql, account.id, 'final', range, MOST_READ).then(cutLastDay),
    readStatements(sql, account.id, 'interim', range, MOST_READ).then(cutLastDay),
    account.balance === null
      ? { rows: [], unread: null }
      : sql.query<Row[]>(READ_MOVEMENT_BALANCES, [account.id, from, to, MOST_READ]).then(cutLastDay),
  ]);
  const unread = [final, interim, movements].reduce<string | null>(
    (latest, it) => (it.unread !== null && (latest === null || it.unread > latest) ? it.unread : latest),
    null,
  );
  const groups = [
    byDay(toBalances(final.rows, 'statement')),
    byDay(toBalances(interim.rows, 'statement')),
    byDay(toBalances(movements.rows, 'movement')),
  ];
  const days = [...new Set(groups.flatMap((group) => [...group.keys()]))]
    .filter((day) => unread === null || day > unread)
    .toSorted()
    .reverse();
  const balances = days.slice(0, perPage).flatMap((day) => {
    const steps = groups.map((group) => group.get(day)).find((it) => it !== undefined) ?? [];
    return findLast(steps) ?? [];
  });
  const next = days[perPage] ?? unread;
  return { balances, next: next !== null && next >= from ? next : null };
}

function byDay(balances: readonly DayBalance[]): Map<string, DayBalance[]> {
  const days = new Map<string, DayBalance[]>();
  for (const balance of balances) {
    const day = days.get(balance.date);
    if (day === undefined) days.set(balance.date, [balance]);
    else day.push(balance);
  }
  return days;
}

/** The closing balance of the newest day with a statement that has one. */
export async function readNewestClosing(sql: Sql, accountId: string): Promise<DayBalance | null> {
  const [final] = await readStatements(sql, accountId, 'final', EVER, 1);
  const [interim] = await readStatements(sql, accountId, 'interim', EVER, 1);
  const isFinal = final !== undefined && (interim === undefined || final.date >= interim.date);
  const newest = isFinal ? final : interim;
  if (newest === undefined) return null;
  const day = { from: newest.date, to: newest.date };
  const rows = await readStatements(sql, accountId, isFinal ? 'final' : 'interim', day, MOST_READ);
  return findLast(toBalances(rows, 'statement')) ?? null;
}

/** A statement, or a movement with the balance after it. Thousandths of the currency. */
export interface BalanceStep {
  id: string;
  /** null: the file does not say. */
  opening: bigint | null;
  closing: bigint;
  entries: number;
}

/**
 * Finds the last step of a day, in whatever order the steps came: no other step begins with its closing balance. Banks list a day's
 * entries in either order, and statements may come in any order. If several statements may be the last, takes the longest, and of equally
 * long statements the one that came last.
 */
export function findLast<T extends BalanceStep>(steps: readonly T[]): T | undefined {
  const openings = new Map<bigint | null, Set<bigint>>();
  for (const { opening, closing } of steps)
    openings.set(opening, (openings.get(opening) ?? new Set()).add(closing));
  const goesOn = ({ closing }: T) => {
    const closings = openings.get(closing);
    return closings !== undefined && closings.size > (closings.has(closing) ? 1 : 0);
  };
  const ends = steps.filter((step) => !goesOn(step));
  // If the balances return to the first balance, there is no end.
  const candidates = ends.length > 0 ? ends : steps.map((step) => ({ ...step, entries: 0 }));
  const [last] = candidates.toSorted(
    (one, other) => other.entries - one.entries || Number(BigInt(other.id) - BigInt(one.id)),
  );
  return steps.find(({ id }) => id === last?.id);
}
