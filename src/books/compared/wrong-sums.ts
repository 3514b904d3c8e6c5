import type { Period } from '../../../packages/reconcile/src/periods.ts';
import { formatAmount, parseThousandths } from '../../../packages/statements/src/amounts.ts';
import type { Sql } from '../../database/transaction.ts';
import { type ConfirmedPeriods, IS_BESIDE, isWindow } from './book-differences.ts';

/** Compares what the balances of statements that follow each other say with the sum of the stored movements of the same days. */

/** Movements whose sum differs from the statements of the same days. */
export interface WrongSum {
  from: string;
  to: string;
  /** The booked sum according to the statements' balances. `movements` is the sum of the stored movements. */
  statements: string;
  movements: string;
  difference: string;
}

/** Reads the day before which retention has removed movements. Indexes: the primary keys. */
const READ_REMOVED_BEFORE =
  'SELECT removed_before FROM import_locks WHERE customer_id = (SELECT customer_id FROM accounts WHERE id = ?)';
/** Index: transactions_account_date. */
const SUM_MOVEMENTS = `
  SELECT COALESCE(SUM(IF(dc = 'Credit', amount, -amount)), 0.00) AS total
  FROM transactions FORCE INDEX (transactions_account_date) WHERE account_id = ? AND date_issue BETWEEN ? AND ?`;

/**
 * Finds the complete periods whose movements do not give the difference between their balances. Periods that share a day are compared
 * together.
 * @returns each with a period that contradicts the movements.
 */
export async function findWrongSums(
  sql: Sql,
  account: { id: string; currency: string },
  periods: ConfirmedPeriods,
): Promise<{ sum: WrongSum; period: Period }[]> {
  const [removed] = await sql.query<{ removed_before: string | null }[]>(READ_REMOVED_BEFORE, [account.id]);
  const removedBefore = removed?.removed_before ?? null;
  const wrong: { sum: WrongSum; period: Period }[] = [];
  const kept = [...periods.values()].flatMap((it) => (it && withoutRemoved(it, removedBefore)) ?? []);
  for (const { from, to, booked, periods: joined } of joinDays(kept)) {
    const [row] = await sql.query<{ total: string }[]>(SUM_MOVEMENTS, [account.id, from, to]);
    const all = parseThousandths(row?.total ?? '0');
    if (all === booked) continue;
    const stored = all - (await sumBeside(sql, account.id, joined));
    if (stored === booked) continue;
    const [statements, movements, difference] = [booked, stored, stored - booked].map((sum) =>
      formatAmount(sum, account.currency),
    ) as [string, string, string];
    const [first, last] = [joined[0] as Period, joined.at(-1) as Period];
    wrong.push({
      sum: { from, to, statements, movements, difference },
      period: {
        ...{ status: 'contradiction', from, to, opening: first.opening, closing: last.closing },
        ...{ difference: stored - booked, statements: joined.flatMap((it) => it.statements) },
      },
    });
  }
  return wrong;
}

/** Movements of some days that are no entry of these statements. Index: transactions_account_date. */
const SUM_BESIDE = `
  SELECT COALESCE(SUM(IF(t.dc = 'Credit', t.amount, -t.amount)), 0.00) AS total
  FROM transactions t FORCE INDEX (transactions_account_date)
  LEFT JOIN transaction_details d ON d.transaction_id = t.id
  WHERE t.account_id = ? AND t.date_issue IN (?) AND ${IS_BESIDE}`;

/** The sum of what was booked on the first and the last day before or after files that begin and end within a day. */
async function sumBeside(sql: Sql, accountId: string, periods: readonly Period[]): Promise<bigint> {
  const days = periods.flatMap((it) => [
    ...(isWindow(it, 'first') ? [it.from] : []),
    ...(isWindow(it, 'last') ? [it.to] : []),
  ]);
  if (days.length === 0) return 0n;
  const ids = periods.flatMap(({ statements }) => statements.map(({ id }) => id));
  const [row] = await sql.query<{ total: string }[]>(SUM_BESIDE, [accountId, days, ids, ids]);
  return parseThousandths(row?.total ?? '0');
}

/** A period without the statements whose movements may have been removed. null: nothing is left. */
function withoutRemoved(period: Period, removedBefore: string | null): Period | null {
  if (removedBefore === null || period.from >= removedBefore) return period;
  const at = 1 + period.statements.findLastIndex(({ from }) => from < removedBefore);
  const first = period.statements[at];
  if (first === undefined) return null;
  return { ...period, from: first.from, opening: first.opening, statements: period.statements.slice(at) };
}

/** Joins periods that share a day, because the movements of that day may belong to either period. */
function joinDays(
  periods: readonly Period[],
): { from: string; to: string; booked: bigint; periods: Period[] }[] {
  const joined: ReturnType<typeof joinDays> = [];
  for (const period of periods) {
    const { from, to, opening, closing } = period;
    const last = joined.at(-1);
    if (last === undefined || from > last.to)
      joined.push({ from, to, booked: closing - opening, periods: [period] });
    else {
      last.booked += closing - opening;
      last.periods.push(period);
      if (to > last.to) last.to = to;
    }
  }
  return joined;
}
