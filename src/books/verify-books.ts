import { type Completeness, isWrong, type Period } from '../../packages/reconcile/src/periods.ts';
import { formatAmount, parseThousandths } from '../../packages/statements/src/amounts.ts';
import type { Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../database/webhook-enums.ts';
import { pendingOf } from '../webhook-record/pending.ts';
import { type Differences, findDifferences, withoutOpenDay } from './book-differences.ts';
import { readCompleteness, viewPeriod } from './find-statements.ts';

/** Checks the books of a customer: compares statements, movements and deliveries with each other. */

/** Movements whose sum differs from the statements of the same days. */
interface WrongSum {
  from: string;
  to: string;
  /** The booked sum according to the statements' balances. `movements` is the sum of the stored movements. */
  statements: string;
  movements: string;
  difference: string;
}

export interface AccountReport {
  id: number;
  title: string;
  currency: string;
  completeness: Completeness;
  /** The gaps and contradictions of the account's statements. */
  periods: ReturnType<typeof viewPeriod>[];
  wrong_sums: WrongSum[];
  /** Missing entries and surplus movements of the complete periods. */
  missing: Differences['missing'];
  surplus: Differences['surplus'];
  open_conflicts: number;
}

export interface BooksReport {
  accounts: AccountReport[];
  /** Webhooks with deliveries that are neither delivered nor failed. */
  pending: { webhook_id: number; title: string; pending: number }[];
}

/** Index: the foreign key's. */
const READ_ACCOUNTS =
  "SELECT id, title, currency FROM accounts WHERE customer_id = ? AND status <> 'deleting' AND (? IS NULL OR id = ?) ORDER BY id";
/** Reads the day before which retention has removed movements. Index: the primary key. */
const READ_REMOVED_BEFORE = 'SELECT removed_before FROM import_locks WHERE customer_id = ?';
/** Index: transactions_account_date. */
const SUM_MOVEMENTS = `
  SELECT COALESCE(SUM(IF(dc = 'Credit', amount, -amount)), 0.00) AS total
  FROM transactions FORCE INDEX (transactions_account_date) WHERE account_id = ? AND date_issue BETWEEN ? AND ?`;
/** Index: movement_conflicts_account_status. */
const COUNT_OPEN_CONFLICTS =
  "SELECT COUNT(*) AS number FROM movement_conflicts FORCE INDEX (movement_conflicts_account_status) WHERE account_id = ? AND status = 'open'";
/** Index: webhooks_customer. */
const COUNT_PENDING_DELIVERIES = `
  SELECT w.id, w.title, ${pendingOf('b', 'c')} AS pending
  FROM webhooks w JOIN webhook_backlogs b ON b.webhook_id = w.id JOIN webhook_cursors c ON c.webhook_id = w.id
  WHERE w.customer_id = ? AND w.status <> 'deleted' AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} ORDER BY w.id`;

/**
 * Checks the books of a customer.
 * @param between only statements and movements of these days (YYYY-MM-DD); null: all.
 * @param accountId only this account; null: all.
 */
export async function verifyBooks(
  sql: Sql,
  customerId: string,
  between: { from: string | null; to: string | null },
  accountId: string | null = null,
): Promise<BooksReport> {
  const accounts: AccountReport[] = [];
  const [removed] = await sql.query<{ removed_before: string | null }[]>(READ_REMOVED_BEFORE, [customerId]);
  for (const account of await sql.query<{ id: string; title: string; currency: string }[]>(READ_ACCOUNTS, [
    customerId,
    accountId,
    accountId,
  ])) {
    const { status, periods } = await readCompleteness(sql, account.id, between);
    const [conflicts] = await sql.query<{ number: string | number }[]>(COUNT_OPEN_CONFLICTS, [account.id]);
    const differences = [...(await findDifferences(sql, account, periods)).values()];
    accounts.push({
      id: Number(account.id),
      title: account.title,
      currency: account.currency,
      completeness: status,
      periods: periods.filter(isWrong).map((period) => viewPeriod(period, account.currency)),
      wrong_sums: await findWrongSums(sql, account, periods, removed?.removed_before ?? null),
      missing: differences.flatMap((it) => it.missing),
      surplus: differences.flatMap((it) => it.surplus),
      open_conflicts: Number(conflicts?.number ?? 0),
    });
  }
  const webhooks = await sql.query<{ id: string; title: string; pending: string | number }[]>(
    COUNT_PENDING_DELIVERIES,
    [customerId],
  );
  const pending = webhooks
    .map(({ id, title, pending }) => ({ webhook_id: Number(id), title, pending: Number(pending) }))
    .filter((it) => it.pending > 0);
  return { accounts, pending };
}

/**
 * Says whether no problem was found in the books. Accounts without statements have nothing to compare. Deliveries that are pending say
 * nothing about the books.
 */
export const areBooksRight = ({ accounts }: BooksReport): boolean =>
  accounts.every(
    ({ periods, wrong_sums, missing, surplus, open_conflicts }) =>
      periods.length + wrong_sums.length + missing.length + surplus.length + open_conflicts === 0,
  );

async function findWrongSums(
  sql: Sql,
  account: { id: string; currency: string },
  periods: readonly Period[],
  removedBefore: string | null,
): Promise<WrongSum[]> {
  const wrong: WrongSum[] = [];
  const complete: Pick<Period, 'from' | 'to' | 'opening' | 'closing'>[] = [];
  for (const period of periods.filter(({ status }) => status === 'complete')) {
    const kept = withoutRemoved(period, removedBefore);
    const confirmed = kept && (await withoutOpenDay(sql, account.id, kept));
    if (confirmed !== null) complete.push(confirmed);
  }
  for (const { from, to, booked } of joinDays(complete)) {
    const [row] = await sql.query<{ total: string }[]>(SUM_MOVEMENTS, [account.id, from, to]);
    const stored = parseThousandths(row?.total ?? '0');
    if (stored === booked) continue;
    const [statements, movements, difference] = [booked, stored, stored - booked].map((sum) =>
      formatAmount(sum, account.currency),
    ) as [string, string, string];
    wrong.push({ from, to, statements, movements, difference });
  }
  return wrong;
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
  periods: readonly Pick<Period, 'from' | 'to' | 'opening' | 'closing'>[],
): { from: string; to: string; booked: bigint }[] {
  const joined: { from: string; to: string; booked: bigint }[] = [];
  for (const { from, to, opening, closing } of periods) {
    const last = joined.at(-1);
    if (last === undefined || from > last.to) joined.push({ from, to, booked: closing - opening });
    else {
      last.booked += closing - opening;
      if (to > last.to) last.to = to;
    }
  }
  return joined;
}
