import { type Completeness, isWrong } from '../../packages/reconcile/src/periods.ts';
import type { Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../database/webhook-enums.ts';
import { pendingOf } from '../webhook-record/pending.ts';
import { joinSettings } from '../webhook-record/record.ts';
import { compareBooks } from './compare-books.ts';
import type { Differences } from './compared/book-differences.ts';
import type { WrongSum } from './compared/wrong-sums.ts';
import { viewPeriod } from './find-statements.ts';

/** Checks the books of a customer: compares statements, movements and deliveries with each other. */

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
  "SELECT id, title, currency FROM accounts WHERE customer_id = ? AND status <> 'deleting' AND (? IS NULL OR id = ?) AND id > ? ORDER BY id LIMIT ?";
/** Index: movement_conflicts_account_status. */
const COUNT_OPEN_CONFLICTS =
  "SELECT COUNT(*) AS number FROM movement_conflicts FORCE INDEX (movement_conflicts_account_status) WHERE account_id = ? AND status = 'open'";
/** Index: webhooks_customer. */
const COUNT_PENDING_DELIVERIES = `
  SELECT w.id, s.title, ${pendingOf('b', 'c')} AS pending
  FROM webhooks w ${joinSettings('w', 's')} JOIN webhook_backlogs b ON b.webhook_id = w.id JOIN webhook_cursors c ON c.webhook_id = w.id
  WHERE w.customer_id = ? AND w.status <> 'deleted' AND w.is_template = 0 AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} ORDER BY w.id`;

/** Which accounts to check: one or all, and of these at most `limit` after an id. */
export interface CheckedAccounts {
  accountId?: string | null;
  after?: string;
  limit?: number;
}

/** More than a customer may have. */
const ALL_ACCOUNTS = 1_000_000;

/**
 * Checks the books of a customer.
 * @param between only statements and movements of these days (YYYY-MM-DD); null: all.
 */
export async function verifyBooks(
  sql: Sql,
  customerId: string,
  between: { from: string | null; to: string | null },
  { accountId = null, after = '0', limit = ALL_ACCOUNTS }: CheckedAccounts = {},
): Promise<BooksReport> {
  const accounts: AccountReport[] = [];
  for (const account of await sql.query<{ id: string; title: string; currency: string }[]>(READ_ACCOUNTS, [
    customerId,
    accountId,
    accountId,
    after,
    limit,
  ])) {
    const { status, periods, differences, wrongSums } = await compareBooks(sql, account, between);
    const [conflicts] = await sql.query<{ number: string | number }[]>(COUNT_OPEN_CONFLICTS, [account.id]);
    accounts.push({
      id: Number(account.id),
      title: account.title,
      currency: account.currency,
      completeness: status,
      periods: periods.filter(isWrong).map((period) => viewPeriod(period, account.currency)),
      wrong_sums: wrongSums,
      missing: [...differences.values()].flatMap((it) => it.missing),
      surplus: [...differences.values()].flatMap((it) => it.surplus),
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
